/** The policy for signing keys: a key stays published as long as what it signed may be valid. */

import { Settings } from '../../kinds/settings.ts'
import { KeyPolicy, type KeyPolicyDoc } from '../../kinds/tokens/key-policy.ts'
import { milliseconds } from '../../text/durations.ts'
import { ruleFor } from '../rule.ts'

export const keyPolicy = ruleFor<KeyPolicyDoc>(
  KeyPolicy,
  ({ keepFor }, _key, { settings }) => {
    const longest = Math.max(settings.accessTokenLifespan, settings.ssoSessionMaxLifespan)
    return milliseconds(keepFor) < longest * 1000
      ? [
          {
            field: '/keepFor',
            code: 'range',
            message: `must not be less than the longest life of a token, which is ${longest} s`,
          },
        ]
      : []
  },
  [Settings],
)
