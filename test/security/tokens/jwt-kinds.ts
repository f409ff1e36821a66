/**
 * Every type of JWT that the server issues or reads, valid and adapted to another consumer as far as the rules of its
 * type permit; and every consumer. A client signs all of its JWTs with one key.
 */

import { createHash, KeyObject, sign as signBytes } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { newId } from '#server/platform/ids.ts'
import { logoutJobs } from '#server/run/background.ts'
import { startUpstream } from '../../broker/upstream.ts'
import { type OidcSite, openIssuer, type Reply } from '../../oidc/fixture.ts'
import { openLogoutPeer } from '../../oidc/logout/logout-peer.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  codeOf,
  newPerson,
  newVerifier,
  redirectUri,
} from '../../oidc/relying-party.ts'
import { accessTokenOf, addUser, issueGrant } from '../../oidc/users.ts'
import { appOf, enrolDevice, openPhone, pushToken } from '../../self-service/phone.ts'
import type { Backend } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { send } from '../../support/server.ts'

export type MakeJwt = () => Promise<string>
/** Whether the place takes the JWT for what it asks for. */
export type Place = (jwt: string) => Promise<boolean>

export interface JwtWorld {
  readonly site: OidcSite
  readonly kinds: Readonly<Record<string, MakeJwt>>
  readonly places: Readonly<Record<string, Place>>
  /** A single-use assertion of the client. */
  assertion: MakeJwt
  /** What the key of the client makes of any text. */
  signText(text: string): string
  /** What a device with that key signs, where it belongs. */
  readonly genuine: Readonly<Record<string, () => Promise<boolean>>>
  close(): Promise<void>
}

const clientId = 'hub'
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`
const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
const otherServer = 'https://other.example'
const isOk = ({ status }: Reply): boolean => status === 200

export const openJwtWorld = async (backend: Backend): Promise<JwtWorld> => {
  const site = await openIssuer(backend, { env })
  const peer = await openLogoutPeer()
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(publicKey)
  const key = KeyObject.from(privateKey)
  const signText = (text: string | Uint8Array): string =>
    signBytes('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
  const { issuer, server } = site
  const alice = await addPerson(site, 'alice')
  const provider = await startUpstream()
  await site.admin('POST', '/identity-providers', {
    alias: 'partner',
    protocol: 'oidc',
    crossApplicationAccess: true,
    config: { issuer: provider.issuer, clientId },
  })
  await site.admin('POST', `/users/${alice}/federated-identity/partner`, { userId: 'alice' })
  const hub = await site.client({
    clientId,
    tokenEndpointAuthMethod: 'private_key_jwt',
    jwks: { keys: [{ ...jwk }] },
    grantTypes: [
      'authorization_code',
      'client_credentials',
      'CIBA',
      'token-exchange',
      'jwt-bearer',
      'device',
    ],
    crossApplicationAccess: [
      { audience: otherServer, clientId, scopes: [], resources: [], email: false },
    ],
    serviceAccountsEnabled: true,
    audiences: [`${server.baseUrl}/admin`],
    scopes: ['account'],
    redirectUris: [redirectUri],
    userinfoSignedResponseAlg: 'RS256',
    backchannelLogoutUri: peer.url,
  })

  const seconds = () => Math.floor(Date.now() / 1000)
  const sign = (claims: Record<string, unknown>, header: object = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey)
  /** What everything has that a client signs for the issuer. */
  const forIssuer = () => ({
    iss: clientId,
    aud: issuer,
    jti: newId(),
    iat: seconds(),
    nbf: seconds(),
    exp: seconds() + 60,
  })
  const assertion = () => sign({ ...forIssuer(), sub: clientId })
  const authenticated = async () => ({
    client_assertion_type: assertionType,
    client_assertion: await assertion(),
  })
  const requestObject = (more: object = {}) => ({
    ...forIssuer(),
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    login_hint: 'alice',
    ...more,
  })
  const proof = (htm: string, path: string, more: object = {}) =>
    sign(
      { ...forIssuer(), sub: clientId, htm, htu: `${issuer}${path}`, ...more },
      { typ: 'dpop+jwt', jwk },
    )
  const firstNonce = async (): Promise<string> => {
    const fields = { grant_type: 'client_credentials', ...(await authenticated()) }
    const { headers } = await site.post('/token', fields, { dpop: await proof('POST', '/token') })
    return headers.get('dpop-nonce') ?? ''
  }

  const issued = async (dpop?: string, nonce?: string, scope = 'openid'): Promise<Reply> => {
    const { verifier, challenge } = newVerifier()
    const asked = { code_challenge: challenge, code_challenge_method: 'S256', scope }
    const page = await newPerson(site).signIn(authorizeUrl(site, { clientId }, asked))
    const reply = await site.post(
      '/token',
      {
        grant_type: 'authorization_code',
        code: codeOf(page),
        redirect_uri: redirectUri,
        code_verifier: verifier,
        ...(await authenticated()),
      },
      dpop === undefined ? {} : { dpop: await proof('POST', '/token', { nonce }) },
    )
    if (!isOk(reply)) throw new Error(JSON.stringify(reply.body))
    return reply
  }
  const userTokens = await issued()
  const boundToken: string = (await issued('bound', await firstNonce())).body.access_token
  const userToken: string = userTokens.body.access_token
  const accountToken: string = (await issued(undefined, undefined, 'openid account')).body
    .access_token

  const service = await site.post('/token', {
    grant_type: 'client_credentials',
    ...(await authenticated()),
  })
  const { body: userinfo } = await site.get('/userinfo', { authorization: `Bearer ${userToken}` })
  const jarmUrl = authorizeUrl(site, { clientId }, { response_mode: 'query.jwt' })
  const { response: jarm = '' } = answerOf(await newPerson(site).signIn(jarmUrl))
  await issued()
  const rows = await server.areas.storage.db
    .selectFrom('session_clients')
    .select('sid')
    .where('client_id', '=', hub.id)
    .orderBy('since', 'desc')
    .execute()
  await site.admin('DELETE', `/sessions/${rows[0]?.sid}`)
  await runJobs(server.areas.jobs, logoutJobs(server.areas))
  const [logoutToken = ''] = peer.tokens
  const given = (jwt: string) => async () => jwt

  // A device may have any key, also that of a client: what one signs must be nothing for the other.
  const owner = await addUser(site, { username: 'bob' })
  const phone = await openPhone(server, 'acme', 'bob', { acr: '2' })
  const bank = await site.client({
    clientId: 'bank',
    grantTypes: ['client_credentials'],
    serviceAccountsEnabled: true,
  })
  const bankToken = await site.token(bank)
  const { grant } = await issueGrant(site, hub, owner)
  const ownerToken = await accessTokenOf(site, hub, owner, grant)
  const app = appOf(server, 'acme')
  const deviceKey = { jwk: { ...jwk }, privateJwk: {}, sign: signText }
  const enrolment = async (): Promise<{ deviceId: string; challenge: string }> => {
    const { body } = await phone.send('POST', '/account/devices', { label: 'My phone' })
    const started = await app('/device/enroll/start', { enrollmentToken: body.enrollmentToken })
    if (started.status !== 200) throw new Error(JSON.stringify([body, started.body]))
    return started.body
  }
  const { id: credentialId } = await enrolDevice(server, 'acme', phone, { key: deviceKey })
  const enrolWith = async (signatureOf: (challenge: string) => string): Promise<boolean> => {
    const { deviceId, challenge } = await enrolment()
    const device = { deviceId, publicKeyJwk: deviceKey.jwk, pushToken, platform: 'android' }
    const { status } = await app('/device/enroll', { ...device, signature: signatureOf(challenge) })
    return status === 201
  }
  const signWith = async (signatureOf: (hash: Buffer) => string): Promise<boolean> => {
    const body = { type: 'signing', payload: '{}', displayText: 'Pay', userId: phone.userId }
    const { body: made } = await send(server.app, 'POST', '/realms/acme/tx', body, {
      authorization: `Bearer ${bankToken}`,
    })
    const signature = signatureOf(Buffer.from(made.hash, 'base64url'))
    const path = `/realms/acme/tx/${made.id}/sign`
    const { status } = await send(
      server.app,
      'POST',
      path,
      { credentialId, signature },
      { authorization: `Bearer ${ownerToken}` },
    )
    return status === 200
  }
  const signatureIn = (jwt: string): string => jwt.split('.')[2] ?? ''

  const askForJag = async (subject: string) =>
    site.post('/token', {
      grant_type: exchangeGrant,
      requested_token_type: tokenType('id-jag'),
      audience: otherServer,
      subject_token: subject,
      subject_token_type: tokenType('id_token'),
      ...(await authenticated()),
    })
  const ownJag: string = (await askForJag(userTokens.body.id_token)).body.access_token

  const kinds: JwtWorld['kinds'] = {
    'client assertion': assertion,
    'client assertion, typed': () =>
      sign({ ...forIssuer(), sub: clientId }, { typ: 'client-authentication+jwt' }),
    'request object': () => sign(requestObject()),
    'request object, typ JWT': () => sign(requestObject(), { typ: 'JWT' }),
    'request object, typed': () => sign(requestObject(), { typ: 'oauth-authz-req+jwt' }),
    'request object about its client': () => sign(requestObject({ sub: clientId })),
    'request object for the token endpoint': () =>
      sign(requestObject({ sub: clientId, aud: `${issuer}/token` })),
    'CIBA request': () => sign({ ...forIssuer(), scope: 'openid', login_hint: 'alice' }),
    'CIBA request about its client': () =>
      sign({
        ...forIssuer(),
        sub: clientId,
        client_id: clientId,
        scope: 'openid',
        login_hint: 'alice',
      }),
    'DPoP proof of the token endpoint': async () =>
      proof('POST', '/token', { nonce: await firstNonce() }),
    'DPoP proof of userinfo': async () =>
      proof('GET', '/userinfo', {
        nonce: await firstNonce(),
        ath: createHash('sha256').update(boundToken).digest('base64url'),
      }),
    'access token of a user': given(userToken),
    'access token of the account API': given(accountToken),
    'access token of a service': given(service.body.access_token),
    'id token': given(userTokens.body.id_token),
    'logout token': given(logoutToken),
    'JARM response': given(jarm),
    'client assertion with what a device signed': async () => {
      const [header, claims] = (await assertion()).split('.')
      return [header, claims, signText((await enrolment()).challenge)].join('.')
    },
    'signed userinfo': given(userinfo),
    'ID-JAG of the realm': given(ownJag),
    'ID-JAG of a provider': () =>
      provider.sign(
        { ...forIssuer(), iss: provider.issuer, sub: 'alice', client_id: clientId },
        { typ: 'oauth-id-jag+jwt' },
      ),
    'id token of a provider': () =>
      provider.sign({ ...forIssuer(), iss: provider.issuer, sub: 'alice', client_id: clientId }),
  }

  const asAssertion =
    (path: string, fields: Record<string, string>): Place =>
    async (client_assertion) => {
      const all = { ...fields, client_assertion_type: assertionType, client_assertion }
      return (await site.post(path, all)).body.error !== 'invalid_client'
    }
  const asRequest =
    (path: string): Place =>
    async (request) => {
      const { status } = await site.post(path, { request, ...(await authenticated()) })
      return status < 300
    }
  const asExchanged =
    (name: 'subject_token' | 'actor_token', type: string): Place =>
    async (jwt) => {
      const shown = { subject_token: userToken, subject_token_type: tokenType('access_token') }
      return isOk(
        await site.post('/token', {
          grant_type: exchangeGrant,
          ...shown,
          [name]: jwt,
          [`${name}_type`]: tokenType(type),
          ...(await authenticated()),
        }),
      )
    }
  const bearer = (jwt: string) => ({ authorization: `Bearer ${jwt}` })

  const places: JwtWorld['places'] = {
    'client_assertion at /token': asAssertion('/token', { grant_type: 'client_credentials' }),
    'client_assertion at /par': asAssertion('/par', {}),
    'client_assertion at CIBA': asAssertion('/backchannel-authentication', {}),
    'client_assertion at /introspect': asAssertion('/introspect', { token: 'x' }),
    'client_assertion at /revoke': asAssertion('/revoke', { token: 'x' }),
    'client_assertion at /device': asAssertion('/device', {}),
    'request at /par': asRequest('/par'),
    'request at CIBA': asRequest('/backchannel-authentication'),
    'request at /authorize': async (request) => {
      const query = new URLSearchParams({ client_id: clientId, request })
      const { headers } = await site.get(`/authorize?${query}`)
      return headers.get('location')?.includes('/realms/acme/login') === true
    },
    'id_token_hint at /authorize': async (hint) => {
      const page = await newPerson(site).open(
        authorizeUrl(site, { clientId }, { id_token_hint: hint }),
      )
      return page.away === undefined && page.status === 200
    },
    'id_token_hint at CIBA': async (id_token_hint) =>
      isOk(
        await site.post('/backchannel-authentication', {
          scope: 'openid',
          id_token_hint,
          ...(await authenticated()),
        }),
      ),
    'id_token_hint at /logout': async (id_token_hint) =>
      isOk(await site.get(`/logout?${new URLSearchParams({ id_token_hint })}`)),
    'bearer at /userinfo': async (jwt) => isOk(await site.get('/userinfo', bearer(jwt))),
    'bearer at the admin API': async (jwt) => {
      const url = `${server.baseUrl}/admin/realms/acme/clients`
      return (await fetch(url, { headers: bearer(jwt) })).status !== 401
    },
    'bearer at the account API': async (jwt) =>
      isOk(await site.get('/account/profile', { ...bearer(jwt), accept: 'application/json' })),
    'signature of a device that enrols': (jwt) => enrolWith(() => signatureIn(jwt)),
    'signature of a transaction': (jwt) => signWith(() => signatureIn(jwt)),
    'DPoP at /token': async (dpop) => {
      const fields = { grant_type: 'client_credentials', ...(await authenticated()) }
      return isOk(await site.post('/token', fields, { dpop }))
    },
    'DPoP at /userinfo': async (dpop) =>
      isOk(await site.get('/userinfo', { authorization: `DPoP ${boundToken}`, dpop })),
    'subject_token, an access token': asExchanged('subject_token', 'access_token'),
    'subject_token, an id token': asExchanged('subject_token', 'id_token'),
    'actor_token, an access token': asExchanged('actor_token', 'access_token'),
    'actor_token, an id token': asExchanged('actor_token', 'id_token'),
    'subject_token for an ID-JAG': async (jwt) => isOk(await askForJag(jwt)),
    'assertion at /token': async (jwt) =>
      isOk(
        await site.post('/token', {
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          assertion: jwt,
          ...(await authenticated()),
        }),
      ),
    'token at /introspect': async (token) =>
      (await site.post('/introspect', { token, ...(await authenticated()) })).body.active === true,
  }
  return {
    site,
    kinds,
    places,
    assertion,
    signText,
    genuine: {
      'signature of a device that enrols': () => enrolWith(signText),
      'signature of a transaction': () => signWith(signText),
    },
    close: async () => {
      await provider.close()
      await peer.close()
      await site.close()
    },
  }
}
