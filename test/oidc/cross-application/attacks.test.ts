/** Attacks on a realm that accepts ID-JAGs: forged, stolen, replayed and mistaken assertions. */

import { createHmac } from 'node:crypto'
import {
  type CryptoKey,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWTPayload,
  SignJWT,
} from 'jose'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientOf } from '#server/tokens/client.ts'
import { startUpstream } from '../../broker/upstream.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { claimsOf } from '../fixture.ts'
import { redirectUri } from '../relying-party.ts'
import { bearerGrant, type CrossSite, openCrossSite, refusalIn } from './fixture.ts'

const refused = [400, 'invalid_grant']

describe.each(backends)('an attacked ID-JAG on $name', (backend) => {
  let world: CrossSite
  let node: TestServer
  beforeAll(async () => {
    world = await openCrossSite(backend)
    const { url, baseUrl } = world.site.server
    // A database file has one process.
    node =
      backend.name === 'sqlite'
        ? world.site.server
        : await startServer(backend, {
            url,
            clock: world.clock,
            env: {
              IAMCTL_BASE_URL: baseUrl,
              IAMCTL_OUTGOING_ALLOW: '127.0.0.1',
              IAMCTL_OUTGOING_ALLOW_HTTP: 'true',
            },
          })
  })
  afterAll(async () => {
    if (node !== world.site.server) await node.close()
    await world.close()
  })

  const seconds = () => Math.floor(world.clock.now() / 1000)
  const judged = async (jag: string, more = {}) => refusalIn(await world.redeem(jag, more))
  const reasonOfLast = async (): Promise<string> =>
    (await world.atChat('GET', '/events?type=CROSS_APPLICATION_TOKEN')).body.items[0].detail
  const atOtherNode = async (assertion: string): Promise<number> => {
    const { clientId, secret } = world.wikiAtChat
    const { statusCode } = await node.app.inject({
      method: 'POST',
      url: '/realms/chat/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({
        grant_type: bearerGrant,
        assertion,
        client_id: clientId,
        client_secret: secret,
      }).toString(),
    })
    return statusCode
  }

  it('is good in the first place', async () => {
    expect(await judged(await world.partnerJag())).toEqual([200, undefined])
  })

  const claims: readonly (readonly [string, () => object, string])[] = [
    ['for another server', () => ({ aud: 'https://other.example' }), 'JWT_CLAIM'],
    ['for the token endpoint', () => ({ aud: `${world.chat}/token` }), 'JWT_CLAIM'],
    ['for the issuer with a slash', () => ({ aud: `${world.chat}/` }), 'JWT_CLAIM'],
    ['for another realm of the server', () => ({ aud: world.site.issuer }), 'JWT_CLAIM'],
    ['for two servers', () => ({ aud: [world.chat, 'https://other.example'] }), 'audiences'],
    ['for nobody', () => ({ aud: undefined }), 'JWT_CLAIM'],
    ['for another client', () => ({ client_id: 'somebody' }), 'another client'],
    ['for no client', () => ({ client_id: undefined }), 'JWT_CLAIM'],
    ['that has expired', () => ({ iat: seconds() - 400, exp: seconds() - 61 }), 'JWT_EXPIRED'],
    ['without end', () => ({ exp: undefined }), 'JWT_CLAIM'],
    ['without a time', () => ({ iat: undefined }), 'JWT_CLAIM'],
    ['of a time to come', () => ({ iat: seconds() + 90, exp: seconds() + 300 }), 'in the future'],
    ['not valid yet', () => ({ nbf: seconds() + 90 }), 'JWT_CLAIM'],
    ['good for a day', () => ({ exp: seconds() + 86_400 }), 'good for more than'],
    [
      'backdated, and good for a day',
      () => ({ iat: 1, exp: seconds() + 60 }),
      'good for more than',
    ],
    ['without an id', () => ({ jti: undefined }), 'JWT_CLAIM'],
    ['with an empty id', () => ({ jti: '' }), 'jti'],
    ['with an id that is a number', () => ({ jti: 7 }), 'jti'],
    ['with an id that no database stores', () => ({ jti: 'a\0b' }), 'jti'],
    ['with an id without bounds', () => ({ jti: 'x'.repeat(256) }), 'jti'],
    ['of a subject that is not linked', () => ({ sub: 'mallory' }), 'no user is linked'],
    ['of nobody', () => ({ sub: undefined }), 'JWT_CLAIM'],
    ['of a subject of another provider', () => ({ sub: world.alice }), 'no user is linked'],
    ['of another issuer', () => ({ iss: 'https://evil.example' }), 'issuer is not trusted'],
    ['of another trusted issuer', () => ({ iss: world.site.issuer, sub: world.alice }), 'ERR_JW'],
    ['of the realm itself', () => ({ iss: world.chat }), 'issuer is not trusted'],
    ['bound to a key', () => ({ cnf: { jkt: 'x'.repeat(43) } }), 'another key'],
    ['bound to a certificate', () => ({ cnf: { 'x5t#S256': 'x' } }), 'another key'],
    ['bound to null', () => ({ cnf: null }), 'another key'],
    ['with rich authorization', () => ({ authorization_details: [] }), 'authorization_details'],
  ]
  it.each(claims)('is refused: %s', async (_title, change, reason) => {
    expect(await judged(await world.partnerJag({ ...change() }))).toEqual(refused)
    expect(await reasonOfLast()).toContain(reason)
  })

  it.each(['JWT', 'at+jwt', 'logout+jwt', 'secevent+jwt', undefined])(
    'is no other JWT of the provider: typ %s (RFC 8725 §3.11)',
    async (typ) => {
      expect(await judged(await world.partnerJag({}, { typ }))).toEqual(refused)
      expect(await reasonOfLast()).toContain('no ID-JAG')
    },
  )

  it('is no id token and no access token of the other realm, nor one of ours', async () => {
    const { id_token, access_token } = await world.signIn()
    for (const token of [id_token, access_token, 'nonsense', 'a.b.c'])
      expect(await judged(token)).toEqual(refused)
    const { body } = await world.redeem(await world.jag())
    expect(await judged(body.access_token)).toEqual(refused)
  })

  it('opens nothing at the realm that issued it', async () => {
    const { site } = world
    const jag = await world.jag()
    const userinfo = await site.get('/userinfo', { authorization: `Bearer ${jag}` })
    expect(userinfo.status).toBe(401)
    const admin = await fetch(`${site.server.baseUrl}/admin/realms/acme/clients`, {
      headers: { authorization: `Bearer ${jag}` },
    })
    expect(admin.status).toBe(401)
  })

  it('is issued and accepted by two servers: a realm takes none of its own (§8.3)', async () => {
    const { site, chat, aliceAtChat, atChat } = world
    const target = { clientId: 'self', scopes: [], resources: [], email: false }
    const self = await site.client({
      clientId: 'self',
      grantTypes: ['authorization_code', 'token-exchange'],
      redirectUris: [redirectUri],
      crossApplicationAccess: [{ ...target, audience: site.issuer }],
    })
    const { id_token } = await world.signIn(self)
    const asked = await world.ask(id_token, { audience: site.issuer }, self)
    expect(refusalIn(asked)).toEqual([400, 'invalid_target'])

    await atChat('POST', '/identity-providers', {
      alias: 'itself',
      protocol: 'oidc',
      crossApplicationAccess: true,
      config: { issuer: chat, clientId: 'chat' },
    })
    await atChat('POST', `/users/${aliceAtChat}/federated-identity/itself`, { userId: 'alice' })
    const { issuers, mint } = site.server.areas.tokens
    const issuer = await issuers.fresh('chat')
    const document = await issuer?.view.get('client', 'wiki-at-chat')
    if (!issuer || !document) throw new Error('no realm chat')
    const own = await mint.sign(issuer, clientOf(document), 'oauth-id-jag+jwt', {
      ...claimsOf(await world.partnerJag()),
      iss: chat,
      sub: 'alice',
    })
    expect(await judged(own)).toEqual(refused)
    expect(await reasonOfLast()).toContain('issuer is not trusted')
  })

  it('is signed by a key of the provider: not by none, a public key as secret, or a key that it brings', async () => {
    const { partner } = world
    const [, body = ''] = (await world.partnerJag()).split('.')
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const typ = 'oauth-id-jag+jwt'
    const spki = await exportSPKI((await importJWK(partner.publicKey, 'RS256')) as CryptoKey)
    const hmac = (secret: string) => {
      const input = `${encode({ alg: 'HS256', typ, kid: partner.publicKey.kid })}.${body}`
      return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
    }
    const own = await generateKeyPair('RS256', { extractable: true })
    const withKey = (header: Record<string, unknown>) =>
      new SignJWT(claimsOf(`.${body}.`) as JWTPayload)
        .setProtectedHeader({ alg: 'RS256', typ, ...header })
        .sign(own.privateKey)
    const { kid = '' } = partner.publicKey
    const evil = await startUpstream()
    const attacks = [
      `${encode({ alg: 'none', typ })}.${body}.`,
      `${encode({ alg: 'None', typ })}.${body}.`,
      hmac(spki),
      hmac(JSON.stringify(partner.publicKey)),
      await withKey({ kid }),
      await withKey({}),
      await withKey({ kid, jku: `${evil.url}/jwks` }),
      await withKey({ kid: evil.publicKey.kid, jku: `${evil.url}/jwks` }),
      await withKey({ kid: '../../../../dev/null' }),
      await withKey({ kid, jwk: { kty: 'oct', k: '' } }),
      await world.partnerJag({}, { crit: ['exp'], b64: true }).catch(() => 'a.b.c'),
      `${await world.partnerJag()}=`,
      (await world.partnerJag()).replace(/^[^.]+/, encode({ alg: 'RS256', kid })),
    ]
    for (const [index, attack] of attacks.entries())
      expect([index, await judged(attack)]).toEqual([index, refused])
    expect(evil.requests).toEqual([])
    await evil.close()
  })

  it('is good once, of many at the same moment, on all nodes', async () => {
    const jag = await world.partnerJag()
    const answers = await Promise.all(
      Array.from({ length: 10 }, async (_, i) =>
        i % 2 === 0 ? (await world.redeem(jag)).status : atOtherNode(jag),
      ),
    )
    expect(answers.filter((status) => status === 200)).toHaveLength(1)
    expect(answers.filter((status) => status === 400)).toHaveLength(9)
    expect(await judged(jag)).toEqual(refused)
    expect(await reasonOfLast()).toContain('used before')
    expect(await atOtherNode(jag)).toBe(400)
    // The id alone does not make it another one, and counts by issuer.
    const { jti } = claimsOf(jag)
    expect(await judged(await world.partnerJag({ jti }))).toEqual(refused)
  })

  it('is remembered for as long as clocks may let it pass', async () => {
    const jag = await world.partnerJag()
    expect(await judged(jag)).toEqual([200, undefined])
    world.clock.pass(359_000)
    const { areas } = world.site.server
    await areas.storage.commit(areas.tokens.grantsStore.forgetStatements())
    expect(await judged(jag)).toEqual(refused)
  })

  it('is for a client that authenticates, may use it, and is enabled', async () => {
    const { wikiAtChat } = world
    const jag = () => world.partnerJag()
    expect(await judged(await jag(), { client_secret: 'wrong' })).toEqual([401, 'invalid_client'])
    const other = await world.clientAtChat({
      clientId: 'other',
      grantTypes: ['client_credentials'],
    })
    const forOther = await world.partnerJag({ client_id: 'other' })
    expect(refusalIn(await world.redeem(forOther, {}, other))).toEqual([400, 'unauthorized_client'])
    const thief = await world.clientAtChat({ clientId: 'thief', grantTypes: ['jwt-bearer'] })
    expect(refusalIn(await world.redeem(await jag(), {}, thief))).toEqual(refused)
    const path = `/clients/${wikiAtChat.id}`
    const { body } = await world.atChat('GET', path)
    await world.atChat('PUT', path, { ...body, enabled: false })
    expect(await judged(await jag())).toEqual([401, 'invalid_client'])
    await world.atChat('PUT', path, { ...body, enabled: true })
    expect(await judged(await jag())).toEqual([200, undefined])
  })

  it('is for an agent that is ACTIVE and may act for users, until the user revokes that', async () => {
    await world.clientAtChat({ clientId: 'idle', grantTypes: ['jwt-bearer'] })
    const bot = await world.clientAtChat({
      clientId: 'bot',
      grantTypes: ['jwt-bearer'],
      scopes: ['chat.read'],
    })
    const forBot = async () => world.redeem(await world.partnerJag({ client_id: 'bot' }), {}, bot)
    const agent = { name: 'bot', clientId: 'bot', allowedScopes: ['chat.read'] }
    const { body } = await world.atChat('POST', '/agents', agent)
    expect(refusalIn(await forBot())).toEqual([400, 'unauthorized_client'])
    await world.atChat('POST', `/agents/${body.id}/activate`)
    expect(refusalIn(await forBot())).toEqual([400, 'unauthorized_client'])
    const { body: doc } = await world.atChat('GET', `/agents/${body.id}`)
    await world.atChat('PUT', `/agents/${body.id}`, { ...doc, allowedDelegation: true })
    const reply = await forBot()
    expect(claimsOf(reply.body.access_token)).toMatchObject({ nhi: true, client_id: 'bot' })
    // Said by the provider and by the realm, and once in the token: of two, a recipient may refuse it (RFC 7519 §4).
    const marked = await world.partnerJag({ client_id: 'bot', nhi: true })
    const { access_token } = (await world.redeem(marked, {}, bot)).body
    const payload = Buffer.from(access_token.split('.')[1], 'base64url').toString()
    expect(payload.match(/"nhi":true/g)).toHaveLength(1)
    const { oidc, storage } = world.site.server.areas
    const [seen] = await oidc.delegations.list('chat', world.aliceAtChat)
    expect(seen).toMatchObject({ agent_id: body.id })
    await storage.commit([oidc.delegations.revoke(world.aliceAtChat, body.id)])
    expect(refusalIn(await forBot())).toEqual(refused)
    await world.atChat('POST', `/agents/${body.id}/suspend`)
    expect(refusalIn(await forBot())).toEqual([400, 'unauthorized_client'])
  })

  it('bound to a key is for the client with that key, and so is the access token (RFC 9449)', async () => {
    const pair = await openid.randomDPoPKeyPair()
    const options = { execute: [openid.allowInsecureRequests] }
    const configOf = (issuer: string, id: string, secret: string) =>
      openid.discovery(new URL(issuer), id, undefined, openid.ClientSecretPost(secret), options)
    const { site, wiki, wikiAtChat, chat } = world
    // openid-client signs proofs by the clock of the system.
    world.clock.pass(Date.now() - world.clock.now())
    const idp = await configOf(site.issuer, wiki.clientId, wiki.secret)
    const { id_token } = await world.signIn()
    const asked = {
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: chat,
      subject_token: id_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    }
    const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
    const bound = async () =>
      (
        await openid.genericGrantRequest(idp, exchangeGrant, asked, {
          DPoP: openid.getDPoPHandle(idp, pair),
        })
      ).access_token
    const { cnf } = claimsOf(await bound())
    expect(cnf).toEqual({ jkt: expect.any(String) })
    expect(await judged(await bound())).toEqual(refused)
    const as = await configOf(chat, wikiAtChat.clientId, wikiAtChat.secret)
    const redeemWith = async (key: typeof pair) =>
      openid.genericGrantRequest(
        as,
        bearerGrant,
        { assertion: await bound() },
        { DPoP: openid.getDPoPHandle(as, key) },
      )
    await expect(redeemWith(await openid.randomDPoPKeyPair())).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    const tokens = await redeemWith(pair)
    expect(tokens.token_type).toBe('dpop')
    expect(claimsOf(tokens.access_token)['cnf']).toEqual(cnf)
  })
})
