/** An issuer on a real port and a real database, for third-party relying parties. */

import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Lookup } from '#server/platform/outgoing/lookup.ts'
import type { Backend } from '../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'

export interface TestClient {
  readonly id: string
  readonly clientId: string
  readonly secret: string
}

export type Fields = Readonly<Record<string, string>> | string

export interface OidcSite {
  readonly server: TestServer
  /** The issuer identifier of the realm that the site was opened with. */
  readonly issuer: string
  /** An admin request below the realm; throws unless it is answered 2xx. */
  admin(method: string, path: string, body?: unknown): Promise<Answer>
  client(doc: Partial<ClientDoc> & { readonly clientId: string }): Promise<TestClient>
  /** Sends a form below the issuer, over the network. */
  post(path: string, fields: Fields, headers?: Readonly<Record<string, string>>): Promise<Reply>
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>
  /** `client_credentials` with the secret in the body; throws unless tokens come back. */
  token(client: TestClient, fields?: Readonly<Record<string, string>>): Promise<string>
  /** Audit events of the realm of this type, newest first. */
  events(
    type: string,
  ): Promise<readonly { outcome: string; actor: string; detail: string | null }[]>
  close(): Promise<void>
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  readonly body: any
}

const replyOf = async (response: Response): Promise<Reply> => {
  const text = await response.text()
  const json = response.headers.get('content-type')?.includes('json') === true && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    body: json ? JSON.parse(text) : text,
  }
}

export const basic = (id: string, secret: string): Record<string, string> => {
  const encoded = [id, secret].map((part) => encodeURIComponent(part)).join(':')
  return { authorization: `Basic ${Buffer.from(encoded).toString('base64')}` }
}

/** The JSON of a token's claims, as it is signed. */
export const claimsTextOf = (token: string): string =>
  Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()

/** What a token of ours says; nothing is verified. */
export const claimsOf = (token: string): Record<string, unknown> => JSON.parse(claimsTextOf(token))

export const openIssuer = async (
  backend: Backend,
  options: {
    readonly clock?: Clock
    readonly realm?: string
    readonly env?: Readonly<Record<string, string>>
    readonly lookup?: Lookup
    readonly logger?: Logger
  } = {},
): Promise<OidcSite> => {
  const { realm = 'acme', ...others } = options
  const server = await startServer(backend, { ...others, listen: true })
  const base = await server.createRealm(realm)
  const issuer = `${server.baseUrl}/realms/${realm}`

  const admin: OidcSite['admin'] = async (method, path, body) => {
    // The clock of a test may have gone past the last session.
    const { send } = await server.signedIn('master', 'admin')
    const answer = await send(method, `${base}${path}`, body)
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer
  }
  const post: OidcSite['post'] = async (path, fields, headers = {}) =>
    replyOf(
      await fetch(`${issuer}${path}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
    )
  return {
    server,
    issuer,
    admin,
    post,
    get: async (path, headers = {}) =>
      replyOf(await fetch(`${issuer}${path}`, { headers, redirect: 'manual' })),
    client: async (doc) => {
      const { body } = await admin('POST', '/clients', doc)
      return { id: body.id, clientId: doc.clientId, secret: body.secret ?? '' }
    },
    token: async ({ clientId, secret }, fields = {}) => {
      const { status, body } = await post('/token', {
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: secret,
        ...fields,
      })
      if (status !== 200) throw new Error(JSON.stringify(body))
      return body.access_token
    },
    events: async (type) => (await admin('GET', `/events?type=${type}`)).body.items,
    close: () => server.close(),
  }
}
