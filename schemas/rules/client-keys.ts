/** The keys that stand in the document of a client: public ones that can be read, and long enough to be trusted. */

import { createPublicKey } from 'node:crypto'
import type { ClientDoc } from '../kinds/client.ts'
import type { FieldError } from '../problems.ts'

type Key = NonNullable<ClientDoc['jwks']>['keys'][number]
type Fault = Pick<FieldError, 'code' | 'message'>

/** What only the holder of a key has, whatever its type (RFC 7518 §6). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

/** RFC 7518 §3.3, §3.5. */
const shortestModulus = 2048

const readable = (key: Key) => {
  try {
    return createPublicKey({ key, format: 'jwk' })
  } catch {
    return undefined
  }
}

const faultOf = (key: Key): Fault | undefined => {
  const secret = privateMembers.filter((name) => name in key)
  if (secret.length > 0)
    return {
      code: 'private-key',
      message: `must be a public key: leave out ${secret.join(', ')}, and use the pair no longer`,
    }
  const { asymmetricKeyType, asymmetricKeyDetails } = readable(key) ?? {}
  if (asymmetricKeyType === undefined)
    return {
      code: 'unusable-key',
      message: 'must be a key that can be read: kty RSA, EC or OKP with its members (RFC 7518 §6)',
    }
  const bits = asymmetricKeyDetails?.modulusLength ?? shortestModulus
  if (bits < shortestModulus)
    return {
      code: 'unusable-key',
      message: `has ${bits} bits: an RSA key must have ${shortestModulus} at least (RFC 7518 §3.3)`,
    }
  return undefined
}

export const keyErrors = ({ jwks }: ClientDoc): FieldError[] =>
  (jwks?.keys ?? []).flatMap((key, i) => {
    const fault = faultOf(key)
    return fault ? [{ field: `/jwks/keys/${i}`, ...fault }] : []
  })
