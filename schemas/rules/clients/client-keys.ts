/** The keys in the document of a client: valid public keys only. */

import type { ClientDoc } from '../../kinds/clients/client.ts'
import type { FieldError } from '../../problems.ts'
import { publicKeyFault } from '../../public-keys/public-keys.ts'

export const keyErrors = ({ jwks }: ClientDoc): FieldError[] =>
  (jwks?.keys ?? []).flatMap((key, i) => {
    const fault = publicKeyFault(key)
    return fault ? [{ field: `/jwks/keys/${i}`, ...fault }] : []
  })
