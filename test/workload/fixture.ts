/** A realm that trusts the workloads of a platform, and the exchange of their JWTs. */

import type { JWTPayload } from 'jose'
import type { WorkloadIdentityDoc } from '#schemas/kinds/provisioning/workload-identity.ts'
import { type OidcSite, openIssuer, type TestClient } from '../oidc/fixture.ts'
import type { Backend } from '../support/backends.ts'
import { openPlatform, type Platform } from './platform.ts'

export const subject = 'repo:acme/shop:ref:refs/heads/main'
export const audience = 'https://id.acme.example'

/** Undefined leaves a claim out. */
export type Changes = Readonly<Record<string, unknown>>

export interface Exchanged {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  /** As it came. */
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  readonly body: any
}

export interface WorkloadSite {
  readonly site: OidcSite
  readonly platform: Platform
  readonly client: TestClient
  /** The id of the credential. */
  readonly credential: string
  readonly clock: { now(): number; advance(seconds: number): void }
  /** Claims of a JWT that the credential accepts. */
  claims(changes?: Changes): JWTPayload
  /** A JWT that the credential accepts, but for these claims. */
  jwt(changes?: Changes, header?: Readonly<Record<string, unknown>>): Promise<string>
  /** Each request comes from an address of its own unless one is given: limits count by address. */
  exchange(
    jwt: string,
    fields?: Readonly<Record<string, string>>,
    from?: { readonly address?: string; readonly realm?: string },
  ): Promise<Exchanged>
  credentialWith(doc: Partial<WorkloadIdentityDoc> & { readonly name: string }): Promise<string>
  close(): Promise<void>
}

export const exchangeForm = (jwt: string): Record<string, string> => ({
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token: jwt,
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
})

let addresses = 0
/** Of a range that no test is in (RFC 2544). */
export const newAddress = (): string => {
  addresses += 1
  return `198.18.${(addresses >> 8) & 255}.${addresses & 255}`
}

export const openWorkloadSite = async (
  backend: Backend,
  env: Readonly<Record<string, string>> = {},
): Promise<WorkloadSite> => {
  const platform = await openPlatform()
  let ahead = 0
  const clock = {
    now: () => Date.now() + ahead,
    advance: (seconds: number) => {
      ahead += seconds * 1000
    },
  }
  const site = await openIssuer(backend, {
    clock,
    env: { IAMCTL_OUTGOING_ALLOW: 'localhost', ...env },
  })
  const client = await site.client({
    clientId: 'deployer',
    grantTypes: ['client_credentials', 'token-exchange'],
    serviceAccountsEnabled: true,
    scopes: ['email', 'profile'],
  })
  const credentialWith: WorkloadSite['credentialWith'] = async (doc) =>
    (
      await site.admin('POST', '/workload-identity', {
        issuer: platform.issuer,
        subject,
        audience,
        clientId: client.clientId,
        scopes: 'email profile',
        ...doc,
      })
    ).body.id
  const credential = await credentialWith({ name: 'shop' })

  const claims: WorkloadSite['claims'] = (changes = {}) => {
    const iat = Math.floor(clock.now() / 1000)
    return {
      iss: platform.issuer,
      sub: subject,
      aud: audience,
      iat,
      nbf: iat,
      exp: iat + 300,
      ...changes,
    } as JWTPayload
  }
  return {
    site,
    platform,
    client,
    credential,
    clock,
    claims,
    jwt: (changes, header) => platform.sign(claims(changes), header),
    exchange: async (jwt, fields = {}, { address = newAddress(), realm = 'acme' } = {}) => {
      const { statusCode, headers, body } = await site.server.app.inject({
        method: 'POST',
        url: `/realms/${realm}/workload-identity/token`,
        remoteAddress: address,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ ...exchangeForm(jwt), ...fields }).toString(),
      })
      return {
        status: statusCode,
        headers,
        text: body,
        body: body.startsWith('{') ? JSON.parse(body) : null,
      }
    },
    credentialWith,
    close: async () => {
      await site.close()
      await platform.close()
    },
  }
}
