/**
 * Cross-application access between two realms of one server: `acme` signs alice in to the client `wiki`, and `chat` accepts the
 * ID-JAGs of `acme` for its client `wiki-at-chat`. A third issuer, `partner`, is a provider with keys of the test.
 */

import { randomUUID } from 'node:crypto'
import type { JWTPayload } from 'jose'
import type { ClientDoc, CrossApplicationTarget } from '#schemas/kinds/clients/client.ts'
import { startUpstream, type Upstream } from '../../broker/upstream.ts'
import type { Backend } from '../../support/backends.ts'
import type { Answer } from '../../support/server.ts'
import { type Fields, type OidcSite, openIssuer, type Reply, type TestClient } from '../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  codeOf,
  exchange,
  newPerson,
  redirectUri,
} from '../relying-party.ts'

export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const bearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
export const jagType = 'urn:ietf:params:oauth:token-type:id-jag'
export const idType = 'urn:ietf:params:oauth:token-type:id_token'
export const refreshType = 'urn:ietf:params:oauth:token-type:refresh_token'
export const api = 'https://api.chat.example/v1'

export interface Tokens {
  readonly access_token: string
  readonly id_token: string
  readonly refresh_token: string
}

export interface CrossSite {
  /** The realm `acme`. */
  readonly site: OidcSite
  readonly partner: Upstream
  /** The issuer of the realm `chat`. */
  readonly chat: string
  readonly wiki: TestClient
  readonly wikiAtChat: TestClient
  /** alice in `acme`, and the user of `chat` that is linked to her. */
  readonly alice: string
  readonly aliceAtChat: string
  clock: { now(): number; pass(ms: number): void }
  /** An admin request below the realm `chat` that has to succeed. */
  atChat(method: string, path: string, body?: unknown): Promise<Answer>
  clientAtChat(doc: Partial<ClientDoc> & { readonly clientId: string }): Promise<TestClient>
  /** alice signs in to the client. */
  signIn(client?: TestClient, asked?: Readonly<Record<string, string>>): Promise<Tokens>
  /** The token exchange of wiki for an ID-JAG, by an id token unless `more` says otherwise. */
  ask(subject: string, more?: Readonly<Record<string, string>>, client?: TestClient): Promise<Reply>
  /** An ID-JAG of acme for alice. */
  jag(more?: Readonly<Record<string, string>>): Promise<string>
  /** An ID-JAG of the partner for alice, with these claims instead. */
  partnerJag(
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<string>
  /** The request at the token endpoint of chat. */
  redeem(
    assertion: string,
    more?: Readonly<Record<string, string>>,
    client?: TestClient,
  ): Promise<Reply>
  close(): Promise<void>
}

const targetWith = (audience: string): Partial<CrossApplicationTarget> => ({
  audience,
  clientId: 'wiki-at-chat',
  relyingParty: 'chat',
  scopes: ['chat.read', 'chat.history'],
  resources: [api],
})

export const openCrossSite = async (backend: Backend): Promise<CrossSite> => {
  let ahead = 0
  const clock = {
    now: () => Date.now() + ahead,
    pass: (ms: number) => {
      ahead += ms
    },
  }
  const site = await openIssuer(backend, {
    clock,
    env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
  })
  const { server } = site
  const partner = await startUpstream()
  partner.now = clock.now
  const base = await server.createRealm('chat')
  const chat = `${server.baseUrl}/realms/chat`
  const atChat: CrossSite['atChat'] = async (method, path, body) => {
    const { send } = await server.signedIn('master', 'admin')
    const answer = await send(method, `${base}${path}`, body)
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer
  }
  const clientAtChat: CrossSite['clientAtChat'] = async (doc) => {
    const { body } = await atChat('POST', '/clients', doc)
    return { id: body.id, clientId: doc.clientId, secret: body.secret ?? '' }
  }

  const alice = await addPerson(site, 'alice')
  await site.client({ clientId: 'chat', redirectUris: [`${chat}/broker/acme/endpoint`] })
  const wiki = await site.client({
    clientId: 'wiki',
    grantTypes: ['authorization_code', 'refresh_token', 'token-exchange'],
    redirectUris: [redirectUri],
    scopes: ['profile', 'offline_access'],
    crossApplicationAccess: [targetWith(chat) as CrossApplicationTarget],
  })

  for (const name of ['chat.read', 'chat.history', 'chat.write'])
    await atChat('POST', '/client-scopes', { name })
  const wikiAtChat = await clientAtChat({
    clientId: 'wiki-at-chat',
    grantTypes: ['jwt-bearer'],
    scopes: ['chat.read', 'chat.history', 'chat.write', 'offline_access'],
    audiences: ['wiki-at-chat'],
  })
  await atChat('PUT', `/clients/${wikiAtChat.id}/allowed-resources`, [api])
  for (const [alias, issuer] of [
    ['acme', site.issuer],
    ['partner', partner.issuer],
  ])
    await atChat('POST', '/identity-providers', {
      alias,
      protocol: 'oidc',
      crossApplicationAccess: true,
      config: { issuer, clientId: 'chat' },
    })
  const { body } = await atChat('POST', '/users', { username: 'alice' })
  const aliceAtChat: string = body.userId
  for (const [alias, subject] of [
    ['acme', alice],
    ['partner', 'alice-at-partner'],
  ])
    await atChat('POST', `/users/${aliceAtChat}/federated-identity/${alias}`, { userId: subject })

  const as = ({ clientId, secret }: TestClient) => ({ client_id: clientId, client_secret: secret })
  const post = async (url: string, fields: Fields): Promise<Reply> => {
    const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
    const { status, headers } = response
    return { status, headers, body: await response.json() }
  }
  const signIn: CrossSite['signIn'] = async (client = wiki, asked = {}) => {
    const url = authorizeUrl(site, client, { scope: 'openid', ...asked })
    const { status, body: tokens } = await exchange(
      site,
      client,
      codeOf(await newPerson(site).signIn(url)),
    )
    if (status !== 200) throw new Error(JSON.stringify(tokens))
    return tokens
  }
  const ask: CrossSite['ask'] = (subject, more = {}, client = wiki) =>
    site.post('/token', {
      grant_type: exchangeGrant,
      requested_token_type: jagType,
      audience: chat,
      subject_token: subject,
      subject_token_type: idType,
      ...as(client),
      ...more,
    })

  return {
    site,
    partner,
    chat,
    wiki,
    wikiAtChat,
    alice,
    aliceAtChat,
    clock,
    atChat,
    clientAtChat,
    signIn,
    ask,
    jag: async (more) => {
      const reply = await ask((await signIn()).id_token, more)
      if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
      return reply.body.access_token
    },
    partnerJag: (claims = {}, header = {}) => {
      const iat = Math.floor(clock.now() / 1000)
      const truth = {
        iss: partner.issuer,
        sub: 'alice-at-partner',
        aud: chat,
        client_id: 'wiki-at-chat',
        jti: randomUUID(),
        iat,
        exp: iat + 300,
        scope: 'chat.read',
        ...claims,
      }
      return partner.sign(truth as JWTPayload, { typ: 'oauth-id-jag+jwt', ...header })
    },
    redeem: (assertion, more = {}, client = wikiAtChat) =>
      post(`${chat}/token`, { grant_type: bearerGrant, assertion, ...as(client), ...more }),
    close: async () => {
      await site.close()
      await partner.close()
    },
  }
}

/** What a refusal says. */
export const refusalIn = ({ status, body }: Reply): unknown => [status, body.error]
