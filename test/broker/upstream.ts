/**
 * An OpenID provider on a port of its own that tells the truth unless a test makes it lie: every document, header, claim and
 * key can be replaced for the next answer.
 */

import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

export interface Person {
  readonly sub: string
  readonly [claim: string]: unknown
}

interface Grant {
  readonly person: Person
  readonly clientId: string
  readonly redirectUri: string
  readonly nonce: string | null
  readonly challenge: string | null
}

/** What the next answers have instead of the truth. */
export interface Lies {
  discovery?: (truth: Record<string, unknown>) => Record<string, unknown>
  idToken?: (claims: JWTPayload) => JWTPayload
  /** Makes the compact JWT of the claims; the key of the provider signs RS256 otherwise. */
  sign?: (claims: JWTPayload) => Promise<string>
  token?: (truth: Record<string, unknown>) => Record<string, unknown>
  userInfo?: (truth: Record<string, unknown>) => Record<string, unknown>
  /** Answers the path itself; true where it did. */
  answer?: (path: string, response: ServerResponse, request: IncomingMessage) => boolean
}

export interface Upstream {
  readonly url: string
  readonly issuer: string
  lies: Lies
  /** Its clock, in epoch milliseconds. */
  now: () => number
  /** Paths and bodies of the requests so far. */
  readonly requests: {
    readonly path: string
    readonly body: string
    readonly headers: IncomingMessage['headers']
  }[]
  readonly publicKey: JWK
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>
  /** A new signing key; the one before is not published any more. */
  rotate(): Promise<void>
  /** The person agrees: the address that the browser is sent back to. */
  agree(authorizationUrl: string, person: Person, extra?: Readonly<Record<string, string>>): string
  close(): Promise<void>
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const part of request) text += String(part)
  return text
}

export const startUpstream = async (path = ''): Promise<Upstream> => {
  let pair = await generateKeyPair('RS256', { extractable: true })
  let kid = randomUUID()
  let jwk = { ...(await exportJWK(pair.publicKey)), kid, use: 'sig', alg: 'RS256' }
  const grants = new Map<string, Grant>()
  const people = new Map<string, Person>()
  const requests: Upstream['requests'] = []

  const json = (response: ServerResponse, value: unknown, status = 200): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }

  const sign = (claims: JWTPayload, header: Record<string, unknown> = {}): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(pair.privateKey)

  const tokenAnswer = async (text: string): Promise<[Record<string, unknown>, number]> => {
    const form = new URLSearchParams(text)
    const grant = grants.get(form.get('code') ?? '')
    grants.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!grant || form.get('redirect_uri') !== grant.redirectUri)
      return [{ error: 'invalid_grant' }, 400]
    if (grant.challenge !== null && challenge !== grant.challenge)
      return [{ error: 'invalid_grant' }, 400]
    const accessToken = randomUUID()
    people.set(accessToken, grant.person)
    const now = Math.floor(upstream.now() / 1000)
    const truth: JWTPayload = {
      iss: upstream.issuer,
      aud: grant.clientId,
      exp: now + 300,
      iat: now,
      auth_time: now,
      at_hash: createHash('sha256')
        .update(accessToken)
        .digest()
        .subarray(0, 16)
        .toString('base64url'),
      ...(grant.nonce === null ? {} : { nonce: grant.nonce }),
      ...grant.person,
    }
    const claims = upstream.lies.idToken?.(truth) ?? truth
    const idToken = await (upstream.lies.sign ?? sign)(claims)
    const answer = {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: 300,
      id_token: idToken,
    }
    return [upstream.lies.token?.(answer) ?? answer, 200]
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', upstream.url)
    const body = await bodyOf(request)
    requests.push({ path: request.url ?? '', body, headers: request.headers })
    if (upstream.lies.answer?.(pathname, response, request)) return
    if (pathname === `${path}/.well-known/openid-configuration`) {
      const truth = {
        issuer: upstream.issuer,
        authorization_endpoint: `${upstream.url}/authorize`,
        token_endpoint: `${upstream.url}/token`,
        userinfo_endpoint: `${upstream.url}/userinfo`,
        jwks_uri: `${upstream.url}/jwks`,
        end_session_endpoint: `${upstream.url}/end`,
        id_token_signing_alg_values_supported: ['RS256'],
      }
      return json(response, upstream.lies.discovery?.(truth) ?? truth)
    }
    if (pathname === `${path}/jwks`) return json(response, { keys: [jwk] })
    if (pathname === `${path}/token`) return json(response, ...(await tokenAnswer(body)))
    if (pathname === `${path}/userinfo`) {
      const person = people.get(String(request.headers.authorization).replace('Bearer ', ''))
      const truth: Record<string, unknown> = person ? { ...person } : { error: 'invalid_token' }
      return json(response, upstream.lies.userInfo?.(truth) ?? truth, person ? 200 : 401)
    }
    json(response, { error: 'not_found' }, 404)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`

  const upstream: Upstream = {
    url,
    issuer: url,
    lies: {},
    now: Date.now,
    requests,
    get publicKey() {
      return jwk
    },
    sign,
    rotate: async () => {
      pair = await generateKeyPair('RS256', { extractable: true })
      kid = randomUUID()
      jwk = { ...(await exportJWK(pair.publicKey)), kid, use: 'sig', alg: 'RS256' }
    },
    agree: (address, person, extra = {}) => {
      const asked = new URL(address).searchParams
      const code = randomUUID()
      grants.set(code, {
        person,
        clientId: asked.get('client_id') ?? '',
        redirectUri: asked.get('redirect_uri') ?? '',
        nonce: asked.get('nonce'),
        challenge: asked.get('code_challenge'),
      })
      const back = new URL(asked.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({
        code,
        state: asked.get('state') ?? '',
        ...extra,
      }).toString()
      return back.href
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
  return upstream
}
