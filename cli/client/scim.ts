/** Calls about inbound provisioning: tokens of SCIM senders, and what the realm offers. */

import type { ScimTokenRecord } from '#schemas/wire/scim.ts'
import { type Call, path } from './http/call.ts'

export interface NewScimToken {
  /** Seconds that it is good for; 0 means unlimited. */
  readonly expiration: number
  readonly sender: string
  readonly scopes: readonly string[]
  readonly label?: string
}

/** What a realm offers to those who provision it. */
export interface Offered {
  readonly scimEnabled: boolean
  readonly dcrEnabled: boolean
}

const all = (realm: string): string => path`/admin/realms/${realm}/provisioning/scim-tokens`

export const scimCalls = (call: Call) => ({
  async offered(realm: string): Promise<Offered> {
    return (await call<Offered>('GET', path`/admin/realms/${realm}/provisioning`)).body
  },
  /** The latest first. */
  async tokens(realm: string): Promise<readonly ScimTokenRecord[]> {
    return (await call<ScimTokenRecord[]>('GET', all(realm))).body
  },
  async createToken(
    realm: string,
    token: NewScimToken,
  ): Promise<ScimTokenRecord & { readonly token: string; readonly url: string }> {
    return (
      await call<ScimTokenRecord & { token: string; url: string }>('POST', all(realm), {
        json: token,
      })
    ).body
  },
  async revokeToken(realm: string, id: string): Promise<void> {
    await call('DELETE', all(realm) + path`/${id}`)
  },
})
