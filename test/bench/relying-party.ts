/** A realm with a service, a web application and a user, and what the two clients send to it. */

import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import { newId } from '#server/platform/ids.ts'
import { loadEngine } from '#server/platform/passwords/engine.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { system } from './backends.ts'
import { type Connection, connect, type Request, sendLoad } from './load.ts'
import { cookiesOf, openForm } from './sign-in.ts'

export const realm = 'acme'
const username = 'ada'
const password = 'a quiet sentence about lamps 17'
const clientSecret = 'a quiet sentence about lamps, 32 or more'
/** The user who signs in. */
export const person = { realm, username, password }
const redirectUri = 'https://web.example/callback'
const issuerPath = `/realms/${realm}`

/** Longer than any measurement: what is measured is not how a token expires. */
const accessTokenLifespan = 3600

const clients: readonly (Partial<ClientDoc> & Pick<ClientDoc, 'clientId'>)[] = [
  {
    clientId: 'service',
    grantTypes: ['client_credentials'],
    tokenEndpointAuthMethod: 'client_secret_post',
  },
  {
    clientId: 'web',
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [redirectUri],
    tokenEndpointAuthMethod: 'client_secret_post',
    scopes: ['profile', 'email'],
    accessTokenLifespan,
  },
]

export const fillIssuer = async (areas: Areas): Promise<void> => {
  await areas.realm.realms.create({ realm }, system)
  await areas.realm.writer.write({
    realm,
    caller: system,
    channel: restChannel,
    operations: clients.map((doc) => ({
      op: 'put',
      kind: Client,
      key: doc.clientId,
      doc,
      secrets: { '/secret': clientSecret },
    })),
  })
  const settings = await areas.realm.settingsOf(realm)
  if (settings === null) throw new Error(`there is no realm ${realm}`)
  const hash = await (await loadEngine()).hash(password)
  const row = newUserRow(
    { username, email: 'ada@acme.example', firstName: 'Ada', lastName: 'Byron' },
    { id: newId(), realm, now: areas.given.clock.now() },
  )
  const { statements } = areas.credentials.passwords.acceptHash(settings, row, hash)
  await areas.storage.commit([...areas.users.store.createStatements(row), ...statements])
}

const form = (
  path: string,
  clientId: string,
  fields: Readonly<Record<string, string>>,
): Request => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({
    ...fields,
    client_id: clientId,
    client_secret: clientSecret,
  }).toString(),
})

/** Also for a limit and a peer, which have the endpoint elsewhere. */
export const clientCredentials = (path = `${issuerPath}/token`): Request =>
  form(path, 'service', { grant_type: 'client_credentials' })

export const jwks: Request = { method: 'GET', path: `${issuerPath}/.well-known/jwks.json` }
export const discovery: Request = {
  method: 'GET',
  path: `${issuerPath}/.well-known/openid-configuration`,
}

export const exchange = (code: string): Request =>
  form(`${issuerPath}/token`, 'web', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
  })

export const refresh = (token: string): Request =>
  form(`${issuerPath}/token`, 'web', { grant_type: 'refresh_token', refresh_token: token })

export const introspect = (token: string): Request =>
  form(`${issuerPath}/introspect`, 'web', { token })

export const userinfo = (token: string): Request => ({
  method: 'GET',
  path: `${issuerPath}/userinfo`,
  headers: { authorization: `Bearer ${token}` },
})

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

export interface Visitor {
  /** So many codes for the web application, over the session of the user. */
  codes(count: number): Promise<string[]>
  /** As many sets of tokens, each of a grant of its own. */
  tokens(count: number): Promise<Tokens[]>
}

const authorization = new URLSearchParams({
  response_type: 'code',
  client_id: 'web',
  redirect_uri: redirectUri,
  scope: 'openid profile email',
  state: 'a-state',
})
/** Where the web application sends a browser. */
export const authorizePath = `${issuerPath}/authorize?${authorization}`

const authorize = async (connection: Connection, cookie: string): Promise<string> => {
  const request: Request = { method: 'GET', path: authorizePath, headers: { cookie } }
  const { headers } = await connection.send(request, 303)
  const code = new URL(String(headers['location'])).searchParams.get('code')
  if (code === null) throw new Error(`no code came back: ${String(headers['location'])}`)
  return code
}

/** Signs the user in; the header of the session. */
export const openSession = async (url: string): Promise<string> => {
  const connection = connect(url)
  const signIn = await openForm(connection, { realm, username, password })
  const session = cookiesOf(await connection.send(signIn, 303))
  await connection.close()
  return [...session].map(([name, value]) => `${name}=${value}`).join('; ')
}

export const openVisit = async (url: string): Promise<Visitor> => {
  const cookie = await openSession(url)

  const collect = async <T>(count: number, get: (one: Connection) => Promise<T>): Promise<T[]> => {
    const all: T[] = []
    const forever = Number.POSITIVE_INFINITY
    await sendLoad(url, 8, { ms: forever, most: count }, async (one) => all.push(await get(one)))
    return all
  }
  return {
    codes: (count) => collect(count, (one) => authorize(one, cookie)),
    tokens: (count) =>
      collect(count, async (one) => {
        const { body } = await one.send(exchange(await authorize(one, cookie)), 200)
        return JSON.parse(body.toString()) as Tokens
      }),
  }
}
