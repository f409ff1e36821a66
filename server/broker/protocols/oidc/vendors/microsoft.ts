/**
 * Microsoft Entra ID. The issuer of `common` and `organizations` has a place for the tenant. The key of a person is tenant and
 * object: `sub` differs per application, `email` and `preferred_username` are set by any administrator of any tenant (nOAuth,
 * CVE-2026-56666). An address counts as verified where `xms_edov` says that its domain belongs to the tenant, or where the
 * tenant is one of `allowedTenants`, whose administrators are trusted.
 */

import { standardPerson, textOf } from '../claims.ts'
import type { Claims, Vendor } from '../vendor.ts'
import { oidc } from './openid.ts'

/** Entra sends the optional claim as a boolean, a number or a text. */
const isOwnerVerified = ({ xms_edov: value }: Claims): boolean =>
  value === true || value === 1 || value === '1' || value === 'true'

const isListed = (tenants: readonly string[] | undefined, tenant: string | undefined): boolean =>
  tenant !== undefined && (tenants ?? []).some((one) => one.toLowerCase() === tenant.toLowerCase())

export const microsoft: Vendor = {
  ...oidc,
  name: 'microsoft',
  preset: {
    discoveryUrl:
      'https://login.microsoftonline.com/organizations/v2.0/.well-known/openid-configuration',
    defaultScope: 'openid profile email',
    clientAuthMethod: 'client_secret_post',
  },
  // An optional claim, which an application registration lacks unless it was added.
  returnsAuthTime: 'sometimes',
  freshParameters: { prompt: 'login' },
  issuerClaim: { template: '{tenantid}', claim: 'tid' },
  refusal: (claims, { config: { allowedTenants } }) => {
    const tenant = textOf(claims['tid'])
    if (tenant === undefined || textOf(claims['oid']) === undefined)
      return 'the ID token names no tenant or no object'
    return (allowedTenants ?? []).length === 0 || isListed(allowedTenants, tenant)
      ? undefined
      : 'the tenant is not one of allowedTenants'
  },
  personOf: (claims, { config: { allowedTenants } }) => ({
    ...standardPerson(claims),
    subject: textOf(claims['oid']),
    emailVerified: isOwnerVerified(claims) || isListed(allowedTenants, textOf(claims['tid'])),
  }),
}
