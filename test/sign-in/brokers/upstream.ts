/** An OpenID provider that says about its users what a test tells it to: the other end of a broker, honest or not. */

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export interface UpstreamUser {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly preferred_username?: string
  readonly given_name?: string
  readonly family_name?: string
  readonly [claim: string]: unknown
}

export interface Upstream {
  readonly issuer: string
  /** The last authorize request. */
  readonly asked: URLSearchParams
  /**
   * Of the tokens that it gives: seconds, whether a refresh token comes with them, which is good once, and how long ago an ID token
   * was made.
   */
  readonly tokens: { expiresIn: number; refreshes: boolean; age: number }
  /** Paths that it answers with an error. */
  readonly down: Set<string>
  /** What a browser gets that signs in there: the address with the answer. */
  authorize(location: string, user: UpstreamUser): Promise<string>
  /** The address with a refusal. */
  cancel(location: string): string
  close(): Promise<void>
}

const bodyOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return new URLSearchParams(Buffer.concat(parts).toString())
}

/** `clock` is its time, in epoch milliseconds. */
export const startUpstream = async (clock: () => number = Date.now): Promise<Upstream> => {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const codes = new Map<string, { user: UpstreamUser; nonce: string | null; client: string }>()
  const tokens: Upstream['tokens'] = { expiresIn: 300, refreshes: false, age: 0 }
  const down = new Set<string>()
  const refreshTokens = new Set<string>()
  let asked = new URLSearchParams()
  let issuer = ''
  const newTokens = () => {
    const refreshToken = randomUUID()
    if (tokens.refreshes) refreshTokens.add(refreshToken)
    return {
      access_token: randomUUID(),
      token_type: 'Bearer',
      expires_in: tokens.expiresIn,
      ...(tokens.refreshes ? { refresh_token: refreshToken } : {}),
    }
  }
  const tokenOf = async (form: URLSearchParams) => {
    if (form.get('grant_type') === 'refresh_token')
      return refreshTokens.delete(form.get('refresh_token') ?? '') ? newTokens() : undefined
    const found = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    if (!found) return undefined
    const now = Math.floor(clock() / 1000)
    const claims = { auth_time: now, ...found.user, ...(found.nonce ? { nonce: found.nonce } : {}) }
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience(found.client)
      .setIssuedAt(now - tokens.age)
      .setExpirationTime(now + 300)
      .sign(privateKey)
    return { ...newTokens(), id_token: idToken }
  }
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', issuer).pathname
    const answer = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (down.has(path)) return answer({ error: 'temporarily_unavailable' }, 503)
    if (path === '/.well-known/openid-configuration')
      return answer({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      })
    if (path === '/jwks') return answer({ keys: [jwk] })
    if (path === '/token') {
      const token = await tokenOf(await bodyOf(request))
      return token ? answer(token) : answer({ error: 'invalid_grant' }, 400)
    }
    return answer({ error: 'not_found' }, 404)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const answerTo = (location: string, parameters: Record<string, string>): string => {
    const { searchParams } = new URL(location)
    asked = searchParams
    const back = new URL(searchParams.get('redirect_uri') ?? '')
    for (const [name, value] of Object.entries(parameters)) back.searchParams.set(name, value)
    back.searchParams.set('state', searchParams.get('state') ?? '')
    back.searchParams.set('iss', issuer)
    return back.href
  }
  return {
    get issuer() {
      return issuer
    },
    tokens,
    down,
    get asked() {
      return asked
    },
    authorize: async (location, user) => {
      const code = randomUUID()
      const { searchParams } = new URL(location)
      const client = searchParams.get('client_id') ?? ''
      codes.set(code, { user, nonce: searchParams.get('nonce'), client })
      return answerTo(location, { code })
    },
    cancel: (location) => answerTo(location, { error: 'access_denied' }),
    close: () => new Promise<void>((done) => server.close(() => done())),
  }
}
