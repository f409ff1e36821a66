/** The config of OpenID Connect and social providers: what fits together, and what would leave a sign-in unprotected. */

import type { IdentityProviderDoc } from '../../kinds/sign-in/identity-provider.ts'
import type { FieldError } from '../../problems.ts'

type Config = IdentityProviderDoc['config']

const required = (key: string, message: string): FieldError => ({
  field: `/config/${key}`,
  code: 'required',
  message,
})

const refused = (key: string, message: string): FieldError => ({
  field: `/config/${key}`,
  code: 'enum',
  message,
})

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const domain = /^(?:[a-z0-9-]+\.)+[a-z0-9-]{2,}$/i

const secretFaults = (config: Config, given: ReadonlySet<string>): FieldError[] => {
  const { clientAuthMethod, pkceEnabled, useJwksUrl } = config
  if (given.has('clientSecret')) return []
  const errors: FieldError[] = []
  if (clientAuthMethod?.startsWith('client_secret'))
    errors.push(required('clientSecret', `is required for ${clientAuthMethod}`))
  if (useJwksUrl === false)
    errors.push(
      required('clientSecret', 'is required where useJwksUrl is false: it verifies ID tokens'),
    )
  if (pkceEnabled === false && clientAuthMethod !== 'private_key_jwt')
    errors.push(
      refused('pkceEnabled', 'must not be false without a clientSecret (RFC 9700 §2.1.1)'),
    )
  return errors
}

const appleFaults = ({ teamId, keyId }: Config, given: ReadonlySet<string>): FieldError[] => {
  if (teamId === undefined && keyId === undefined) return []
  return [
    ...(teamId === undefined ? [required('teamId', 'is required beside keyId')] : []),
    ...(keyId === undefined ? [required('keyId', 'is required beside teamId')] : []),
    ...(given.has('clientSecret')
      ? []
      : [required('clientSecret', 'is required beside teamId: the private key of keyId')]),
  ]
}

/** `given` has the names of the keys with a value, secret ones too. */
export const oidcFaults = (
  protocol: string,
  config: Config,
  given: ReadonlySet<string>,
): FieldError[] => {
  const errors = [...secretFaults(config, given), ...appleFaults(config, given)]
  if (protocol === 'oidc' && !given.has('issuer') && !given.has('discoveryUrl'))
    errors.push(required('issuer', 'is required for oidc, or discoveryUrl instead'))
  if (config.validateSignature === false)
    errors.push(refused('validateSignature', 'must not be false: signatures are always verified'))
  if (config.hostedDomain !== undefined && !domain.test(config.hostedDomain))
    errors.push(refused('hostedDomain', 'must be a domain, such as example.com'))
  for (const [index, tenant] of (config.allowedTenants ?? []).entries())
    if (!uuid.test(tenant))
      errors.push(refused(`allowedTenants/${index}`, 'must be the id of a tenant, not its domain'))
  return errors
}
