/** Clients that get ID-JAGs for other authorization servers: they authenticate, exchange tokens, and have one policy per server. */

import type { ClientDoc } from '../../kinds/clients/client.ts'
import type { FieldError } from '../../problems.ts'

const field = '/crossApplicationAccess'

export const crossApplicationErrors = ({
  crossApplicationAccess: targets,
  publicClient,
  grantTypes,
  subjectClaim,
}: ClientDoc): FieldError[] => {
  if (targets.length === 0) return []
  const errors: FieldError[] = []
  if (publicClient)
    errors.push({
      field,
      code: 'public-client',
      message: 'a public client gets no ID-JAG: it has nothing to authenticate with',
    })
  if (!grantTypes.includes('token-exchange'))
    errors.push({
      field,
      code: 'grant-missing',
      message: 'needs the grant type token-exchange: add it to grantTypes',
    })
  const seen = new Set<string>()
  for (const [index, { audience, relyingParty }] of targets.entries()) {
    if (seen.has(audience))
      errors.push({
        field: `${field}/${index}/audience`,
        code: 'duplicate',
        message: `"${audience}" is listed before; put its scopes and resources in one entry`,
      })
    seen.add(audience)
    if (subjectClaim === 'pairwise' && relyingParty === undefined)
      errors.push({
        field: `${field}/${index}/relyingParty`,
        code: 'required',
        message:
          'is required for pairwise subjects: the other server knows no subject of this client',
      })
  }
  return errors
}
