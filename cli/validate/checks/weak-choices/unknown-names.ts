/**
 * Settings of authenticators that name what the files do not have. A condition of an unknown role never holds, so that its
 * second factor is asked of no user. A warning: groups of a directory, and clients that registered, are in no file.
 */

import {
  type AuthenticatorSetting,
  listOf,
  settingsOf,
} from '#schemas/drivers/authenticator-settings.ts'
import { pointerSegment } from '#schemas/json-schema.ts'
import { Flow, type FlowDoc } from '#schemas/kinds/sign-in/flow.ts'
import { kindNamed } from '#schemas/registry.ts'
import { nearest } from '#schemas/text/typos.ts'
import { didYouMean } from '../../finding.ts'
import type { Model } from '../../model.ts'
import { type WeakChoice, type Weakness, weakChoice } from './weak-choice.ts'

type Execution = FlowDoc['authenticationExecutions'][number]

const settingWeaknesses = (
  model: Model,
  { names: kinds = [], name, list }: AuthenticatorSetting,
  { authenticator, authenticatorConfig: config }: Execution,
  field: string,
): Weakness[] => {
  const [first = ''] = kinds
  const value = config[name]
  if (value === undefined || first === '' || !model.lists(kindNamed(first), null)) return []
  return (list ? listOf(value) : [value])
    .filter((one) => !kinds.some((kind) => model.has(kind, one)))
    .map((one) => ({
      field: `${field}/authenticatorConfig/${pointerSegment(name)}`,
      message: `the files have no ${first} "${one}": ${authenticator} does nothing for it while the realm has none`,
      ...didYouMean(
        nearest(
          one,
          kinds.flatMap((kind) => model.keysOf(kind)),
        ),
      ),
    }))
}

export const unknownNames: WeakChoice = weakChoice<FlowDoc>(
  Flow,
  'unknown-name',
  'an authenticator of a flow is set to a name that the files do not have',
  ({ authenticationExecutions }, model) =>
    authenticationExecutions.flatMap((execution, i) =>
      settingsOf(execution.authenticator ?? '').flatMap((setting) =>
        settingWeaknesses(model, setting, execution, `/authenticationExecutions/${i}`),
      ),
    ),
)
