/** A phone of a user, as the server sees it: a session in its browser, and an app with a key of its own. */

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { vi } from 'vitest'
import { createCookies } from '#server/http/cookies/cookies.ts'
import type { Delivery } from '#server/messaging/sender.ts'
import { csrfBinding } from '#server/sessions/sessions.ts'
import type { World } from '../sign-in/world.ts'
import { type Answer, send, type TestServer } from '../support/server.ts'

export interface DeviceKey {
  readonly jwk: Readonly<Record<string, unknown>>
  readonly privateJwk: Readonly<Record<string, unknown>>
  sign(data: string | Uint8Array): string
}

export const newKey = (type: 'ES256' | 'Ed25519' = 'ES256'): DeviceKey => {
  const { publicKey, privateKey } =
    type === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('ed25519')
  const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' }) as Record<string, unknown>
  return {
    jwk: jwkOf(publicKey),
    privateJwk: jwkOf(privateKey),
    sign: (data) =>
      sign(type === 'ES256' ? 'sha256' : null, Buffer.from(data), {
        key: privateKey,
        dsaEncoding: 'ieee-p1363',
      }).toString('base64url'),
  }
}

export interface Phone {
  readonly userId: string
  readonly cookie: string
  /** Below the realm, with the cookie and the CSRF token of the session. */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
}

/** A session that was signed in to in this way. */
export const openPhone = async (
  { app, areas, baseUrl }: TestServer,
  realm: string,
  username: string,
  signIn: { readonly acr?: string; readonly impersonator?: string } = {},
): Promise<Phone> => {
  const [user, settings] = [
    await areas.users.store.find(realm, username),
    await areas.realm.settingsOf(realm),
  ]
  if (!user || !settings) throw new Error(`no user ${username} in ${realm}`)
  const { session, cookieValue, statements } = areas.sessions.openStatements({
    realm,
    userId: user.id,
    ip: '127.0.0.1',
    userAgent: 'phone',
    rememberMe: false,
    settings,
    ...signIn,
  })
  await areas.storage.commit(statements)
  const token = areas.http.csrf.tokenFor(csrfBinding(session))
  const cookie = `${createCookies(baseUrl).session(realm).name}=${cookieValue}`
  return {
    userId: user.id,
    cookie,
    send: (method, path, body, headers = {}) =>
      send(app, method, `/realms/${realm}${path}`, body, {
        'x-xsrf-token': token,
        ...headers,
        cookie: [cookie, headers['cookie']].filter(Boolean).join('; '),
      }),
  }
}

/** Nothing but the app: neither cookie nor token. */
export const appOf =
  ({ app }: TestServer, realm: string) =>
  (path: string, body: unknown): Promise<Answer> =>
    send(app, 'POST', `/realms/${realm}${path}`, body, {})

export const pushToken = 'device-token-0123456789'

/** A device that is enrolled; its credential. */
export const enrolDevice = async (
  server: TestServer,
  realm: string,
  phone: Phone,
  { key = newKey(), token = pushToken }: { readonly key?: DeviceKey; readonly token?: string } = {},
): Promise<{ readonly id: string; readonly deviceId: string; readonly key: DeviceKey }> => {
  const app = appOf(server, realm)
  const permitted = await phone.send('POST', '/account/devices', { label: 'My phone' })
  const { enrollmentToken } = permitted.body
  const { challenge, deviceId } = (await app('/device/enroll/start', { enrollmentToken })).body
  const { status, body } = await app('/device/enroll', {
    deviceId,
    publicKeyJwk: key.jwk,
    pushToken: token,
    platform: 'android',
    signature: key.sign(challenge),
  })
  if (status !== 201) throw new Error(JSON.stringify([permitted.body, body]))
  return { id: body.id, deviceId, key }
}

/** Lets the realm send push messages, which arrive in the list instead of at a device. */
export const catchPushes = async (world: World, sent: Delivery[]): Promise<void> => {
  await world.must('PUT', '/messaging/providers', {
    channel: 'PUSH',
    driver: 'fcm',
    config: { projectId: 'shop' },
    secret: '{}',
  })
  vi.spyOn(world.server.areas.messaging, 'send').mockImplementation(async (delivery) => {
    sent.push(delivery)
    return { status: 'sent', driver: 'fcm', messageId: '1' }
  })
}
