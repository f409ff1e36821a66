/** A realm in which clients register themselves. */

import type { Clock } from '#server/platform/clock.ts'
import type { Lookup } from '#server/platform/outgoing/lookup.ts'
import { type OidcSite, openIssuer, type Reply } from '../oidc/fixture.ts'
import type { Backend } from '../support/backends.ts'

export interface RegistrationSite extends OidcSite {
  /** Changes what the realm allows; what is not named stays. */
  allow(fields: Readonly<Record<string, unknown>>): Promise<void>
  /** An initial access token. */
  initialToken(fields?: { readonly count?: number; readonly expiration?: number }): Promise<string>
  register(metadata: unknown, token?: string): Promise<Reply>
  /** To the client configuration endpoint. */
  manage(method: string, url: string, token: string, metadata?: unknown): Promise<Reply>
}

const replyOf = async (response: Response): Promise<Reply> => {
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text.startsWith('{') ? JSON.parse(text) : text,
  }
}

const sendJson = async (
  method: string,
  url: string,
  body: unknown,
  token: string | undefined,
): Promise<Reply> =>
  replyOf(
    await fetch(url, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )

export const web = {
  client_name: 'Web shop',
  redirect_uris: ['https://app.example/callback'],
}

export const openRegistration = async (
  backend: Backend,
  options: {
    readonly clock?: Clock
    readonly env?: Readonly<Record<string, string>>
    readonly lookup?: Lookup
  } = {},
): Promise<RegistrationSite> => {
  const site = await openIssuer(backend, options)
  await site.admin('PUT', '/provisioning', { dcrEnabled: true })
  const url = `${site.issuer}/connect/register`
  return {
    ...site,
    allow: async (fields) => {
      await site.admin('PUT', '/provisioning', fields)
    },
    initialToken: async (fields = { count: 1000 }) =>
      (await site.admin('POST', '/provisioning/initial-access-tokens', fields)).body.token,
    register: (metadata, token) => sendJson('POST', url, metadata, token),
    manage: (method, at, token, metadata) => sendJson(method, at, metadata, token),
  }
}
