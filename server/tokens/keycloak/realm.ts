/**
 * What Keycloak tells of a realm at the address of the issuer, for realms with `keycloakPaths`: its clients take the key from
 * there that verifies access tokens (python-keycloak), and the addresses below which the endpoints are.
 */

import type { RealmKeys } from '#server/keys/realm-keys.ts'
import type { Issuers } from '../issuers.ts'

/** With the names of Keycloak's PublishedRealmRepresentation. */
export interface PublishedRealm {
  readonly realm: string
  /** Base64 of the DER. */
  readonly public_key: string
  readonly 'token-service': string
  readonly 'account-service': string
}

/** Undefined where the realm does not have the switch. */
export const createPublishedRealm =
  ({
    issuers,
    realmKeys,
  }: {
    readonly issuers: Pick<Issuers, 'fresh'>
    readonly realmKeys: RealmKeys
  }) =>
  async (realm: string): Promise<PublishedRealm | undefined> => {
    const issuer = await issuers.fresh(realm)
    if (!issuer?.settings.keycloakPaths) return undefined
    const [signer] = (await realmKeys.of(issuer.view)).signers()
    return (
      signer && {
        realm,
        public_key: signer.publicKey,
        'token-service': `${issuer.url}/protocol/openid-connect`,
        'account-service': `${issuer.url}/account`,
      }
    )
  }
