/**
 * The keys in the document of a client: public keys without a fault. Keys of a type that is not understood are ignored (RFC 7517 §5),
 * unless there are no others.
 */

import type { ClientDoc } from '../../kinds/clients/client.ts'
import type { FieldError } from '../../problems.ts'
import { isUnderstoodKey, publicKeyFault } from '../../public-keys/public-keys.ts'

export const keyErrors = ({ jwks }: ClientDoc): FieldError[] => {
  const keys = jwks?.keys ?? []
  const hasOthers = keys.some(isUnderstoodKey)
  return keys.flatMap((key, i) => {
    const fault = publicKeyFault(key)
    const isIgnored = hasOthers && fault?.code !== 'private-key' && !isUnderstoodKey(key)
    return fault && !isIgnored ? [{ field: `/jwks/keys/${i}`, ...fault }] : []
  })
}
