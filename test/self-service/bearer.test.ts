/** The account by access token: the token has the authentication level of its sign-in. */

import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { clientOf } from '#server/tokens/client.ts'
import { type OidcSite, openIssuer, type TestClient } from '../oidc/fixture.ts'
import { addUser, issueGrant, issuerOf, openSession } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'

describe.each(backends.slice(0, 1))('an account by token on $name', (backend) => {
  let site: OidcSite
  let portal: TestClient
  let ann: UserRow
  beforeAll(async () => {
    site = await openIssuer(backend)
    portal = await site.client({
      clientId: 'portal',
      scopes: ['account'],
      webOrigins: ['https://portal.example'],
    })
    ann = await addUser(site, { username: 'ann' })
  })
  afterAll(() => site.close())

  const tokenOf = async (
    authentication: {
      readonly sid?: string
      readonly authTime?: number
      readonly acr?: string
    },
    jkt?: string,
  ): Promise<string> => {
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', portal.id)
    if (!document) throw new Error('no portal')
    const { sid } = authentication
    const { grant } = await issueGrant(site, portal, ann, sid === undefined ? {} : { sid })
    const { token } = await site.server.areas.tokens.mint.accessToken({
      issuer,
      client: clientOf(document),
      user: ann,
      scope: ['openid', 'account'],
      authentication: { grantId: grant.id, ...authentication },
      jkt,
    })
    return token
  }
  const send = async (token: string, method: string, path: string, body?: object) => {
    const answer = await fetch(`${site.issuer}/account${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        origin: 'https://portal.example',
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await answer.text()
    const { status, headers } = answer
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const now = () => site.server.areas.given.clock.now()

  it('is read and changed without a CSRF token, from the origins of the client', async () => {
    const token = await tokenOf({ authTime: now(), acr: '1' })
    const read = await send(token, 'GET', '/profile')
    expect([read.status, read.body.username]).toEqual([200, 'ann'])
    expect(read.headers.get('access-control-allow-origin')).toBe('https://portal.example')
    const profile = { email: null, firstName: 'Ann', lastName: null }
    expect((await send(token, 'PUT', '/profile', profile)).status).toBe(200)
    const preflight = await fetch(`${site.issuer}/account/profile`, {
      method: 'OPTIONS',
      headers: { origin: 'https://portal.example', 'access-control-request-method': 'PUT' },
    })
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, PUT')
  })

  it('gets a factor only by a token that says of a recent sign-in, and of a strong one where there is a factor', async () => {
    const path = '/credentials/recovery-codes'
    for (const authTime of [undefined, now() - 6 * 60_000]) {
      const token = await tokenOf({ acr: '2', ...(authTime === undefined ? {} : { authTime }) })
      const answer = await send(token, 'POST', path, {})
      expect([answer.status, answer.body.code]).toEqual([403, 'step-up'])
      expect(answer.headers.get('www-authenticate')).toBe(
        'Bearer error="insufficient_user_authentication", max_age="300"',
      )
    }
    const recent = await tokenOf({ authTime: now(), acr: '1' })
    expect((await send(recent, 'POST', path, {})).status).toBe(200)
    await site.admin('POST', `/users/${ann.id}/credentials`, { type: 'otp' })
    const weak = await tokenOf({ authTime: now(), acr: '1' })
    expect((await send(weak, 'POST', path, {})).headers.get('www-authenticate')).toContain(
      'acr_values="2"',
    )
    const better = await tokenOf({ authTime: now(), acr: '2' })
    expect((await send(better, 'POST', path, {})).status).toBe(200)
  })

  it('is asked for a stronger sign-in in the scheme of its token (RFC 9449 §7.1)', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwk = await exportJWK(publicKey)
    const token = await tokenOf({ acr: '2' }, await calculateJwkThumbprint(jwk))
    const htu = `${site.issuer}/account/credentials/recovery-codes`
    const ath = createHash('sha256').update(token).digest('base64url')
    const post = async (nonce?: string) => {
      const iat = Math.floor(now() / 1000)
      const dpop = await new SignJWT({ htm: 'POST', htu, ath, jti: newId(), iat, nonce })
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
        .sign(privateKey)
      const headers = { authorization: `DPoP ${token}`, dpop, 'content-type': 'application/json' }
      return fetch(htu, { method: 'POST', headers, body: '{}' })
    }
    const first = await post()
    const nonce = first.headers.get('dpop-nonce')
    const { status, headers } = nonce === null ? first : await post(nonce)
    expect([status, headers.get('www-authenticate')]).toEqual([
      403,
      'DPoP error="insufficient_user_authentication", max_age="300"',
    ])
  })

  it('signs out everywhere but where the token comes from', async () => {
    const [here, there] = [await openSession(site, ann), await openSession(site, ann)]
    const token = await tokenOf({ sid: here.session.sid, authTime: now() })
    const before = await send(token, 'GET', '/sessions')
    const listed = before.body.filter(({ current }: { current: boolean }) => current)
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([here.session.sid])
    expect((await send(token, 'DELETE', '/sessions')).status).toBe(204)
    expect((await send(token, 'GET', '/sessions')).body.length).toBe(1)
    const { status } = await site.get('/account/profile', { cookie: there.cookie })
    expect(status).toBe(401)
  })
})
