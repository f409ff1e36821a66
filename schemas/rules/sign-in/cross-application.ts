/**
 * Identity providers whose ID-JAGs the realm accepts: the `iss` of an ID-JAG finds one provider, its keys are asymmetric, and
 * nothing that a sign-in through it would ask of the user is passed over.
 */

import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '../../kinds/sign-in/identity-provider.ts'
import type { FieldError } from '../../problems.ts'
import type { RuleContext } from '../rule.ts'

const field = '/crossApplicationAccess'

const refused = (message: string): FieldError => ({ field, code: 'conflict', message })

export const crossApplicationFaults = (
  { protocol, linkOnly, postLoginFlow, config }: IdentityProviderDoc,
  key: string,
  { all }: RuleContext,
): FieldError[] => {
  if (protocol !== 'oidc') return [refused(`is not for ${protocol}: ID-JAGs come from oidc alone`)]
  const errors: FieldError[] = []
  if (linkOnly) errors.push(refused('excludes linkOnly: an ID-JAG stands for a sign-in'))
  if (postLoginFlow !== undefined)
    errors.push(refused('excludes postLoginFlow: an ID-JAG comes without the user'))
  if (config.useJwksUrl === false)
    errors.push(refused('excludes config.useJwksUrl: false; ID-JAGs are verified with the JWK set'))
  if (config.issuer === undefined)
    errors.push({
      field: '/config/issuer',
      code: 'required',
      message: 'is required beside crossApplicationAccess: an ID-JAG names its provider by it',
    })
  const other = [...all(IdentityProvider.kind)].find(([name, one]) => {
    const doc = one as IdentityProviderDoc
    return name !== key && doc.crossApplicationAccess && doc.config.issuer === config.issuer
  })
  if (other)
    errors.push(refused(`"${other[0]}" accepts ID-JAGs of the same issuer; unset it there or here`))
  return errors
}
