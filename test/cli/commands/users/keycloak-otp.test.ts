/** Authenticator apps in Keycloak exports: users keep their apps. The formats are those of Keycloak releases. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SignInBrowser } from '../../../sign-in/world.ts'
import { anyBackend } from '../../../support/backends.ts'
import { type ServedHome, startServedHome } from '../fixture/served-home.ts'

const password = 'the old password'
/** As Keycloak draws it: letters and digits whose bytes are the key. */
const secret = 'mZ8hTn3qYc1LrW0vKx5B'

interface App {
  readonly algorithm: 'SHA1' | 'SHA256' | 'SHA512'
  readonly digits: number
  readonly period: number
}
const usual: App = { algorithm: 'SHA1', digits: 6, period: 30 }

const appOf = ({ algorithm, digits, period }: App) =>
  new TOTP({ secret: Secret.fromUTF8(secret), algorithm, digits, period })

const personOf = (username: string, ...factors: object[]) => ({
  username,
  enabled: true,
  totp: true,
  credentials: [{ type: 'password', value: password }, ...factors],
})

/** Since Keycloak 8: two texts of JSON. */
const recent = (data: object, value: unknown = secret) => ({
  id: '6f0c1a52-0000-4000-8000-000000000003',
  type: 'otp',
  userLabel: 'Phone',
  createdDate: 1_700_000_000_000,
  secretData: JSON.stringify({ value }),
  credentialData: JSON.stringify(data),
})
/** Before: on the credential itself, under the name of a hash. */
const former = (more: object) => ({
  type: 'totp',
  hashedSaltedValue: secret,
  hashIterations: 0,
  counter: 0,
  createdDate: 1_500_000_000_000,
  config: {},
  ...more,
})

const totp = { subType: 'totp', digits: 6, counter: 0, period: 30, algorithm: 'HmacSHA1' }
const shapes: Record<string, readonly [object, App]> = {
  'an app since Keycloak 8': [recent(totp), usual],
  'an app with its secret in Base32': [
    recent({ ...totp, secretEncoding: 'BASE32' }, Secret.fromUTF8(secret).base32),
    usual,
  ],
  'an app with 8 digits of SHA-256 each minute': [
    recent({ ...totp, digits: 8, period: 60, algorithm: 'HmacSHA256' }),
    { algorithm: 'SHA256', digits: 8, period: 60 },
  ],
  'an app of SHA-512': [
    recent({ ...totp, algorithm: 'HmacSHA512' }),
    { ...usual, algorithm: 'SHA512' },
  ],
  'an app before Keycloak 8': [former({ algorithm: 'HmacSHA1', digits: 6, period: 30 }), usual],
  'an app before algorithms were named': [former({}), usual],
  'an app as text': [{ type: 'totp', value: secret }, usual],
}

describe.each(anyBackend)('authenticator apps of a Keycloak export on $name', (backend) => {
  let server: ServedHome['server']
  let home: ServedHome['home']
  let close: ServedHome['close']
  let made = 0
  beforeAll(async () => {
    ;({ server, home, close } = await startServedHome(backend))
  })
  afterAll(() => close())

  const newRealm = async (): Promise<string> => {
    made += 1
    await server.createRealm(`apps-${made}`)
    return `apps-${made}`
  }
  const imported = (realm: string, users: readonly object[], ...flags: string[]) => {
    const file = join(home.folder, `${realm}.json`)
    writeFileSync(file, JSON.stringify({ realm: 'old', users }))
    return home.run(['users', 'import', file, '--realm', realm, ...flags])
  }
  const signIn = async (realm: string, username: string, code?: string) => {
    const browser = new SignInBrowser(server.baseUrl)
    await browser.open(`/realms/${realm}/login`)
    await browser.submit({ username, password })
    if (code !== undefined) await browser.submit({ code })
    return browser
  }
  const credentialsOf = async (realm: string, username: string) => {
    const base = `/admin/realms/${realm}/users/${username}`
    return (await server.admin.send('GET', `${base}/credentials`)).body
  }

  it('go on working as second factor, whatever the form', async () => {
    const realm = await newRealm()
    const users = Object.values(shapes).map(([factor], i) => personOf(`user-${i}`, factor))
    const { code, stderr } = await imported(realm, users)
    expect(code, stderr).toBe(0)
    expect(stderr).not.toContain('credentials')
    for (const [i, [shape, [, app]]] of Object.entries(shapes).entries()) {
      const half = await signIn(realm, `user-${i}`)
      expect(half.isSignedIn(realm), shape).toBe(false)
      expect(half.page?.body, shape).toContain('name="code"')
      const whole = await signIn(realm, `user-${i}`, appOf(app).generate())
      expect(whole.isSignedIn(realm), shape).toBe(true)
    }
  })

  it('are stored sealed, keep their names, and are neither told nor logged', async () => {
    const realm = await newRealm()
    const { code, stdout, stderr } = await imported(realm, [personOf('ann', recent(totp))])
    expect(code, stderr).toBe(0)
    const list = await credentialsOf(realm, 'ann')
    expect(list).toMatchObject([{ type: 'password' }, { type: 'otp', userLabel: 'Phone' }])
    const rows = await server.areas.storage.db.selectFrom('credentials').selectAll().execute()
    const events = await server.areas.storage.db.selectFrom('audit_events').selectAll().execute()
    const base32 = Secret.fromUTF8(secret).base32
    for (const text of [JSON.stringify([rows, events, list]), stdout, stderr]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(base32)
    }
  })

  it('replace those of a user who is overwritten, and are not added twice', async () => {
    const realm = await newRealm()
    const other = recent(totp, 'another secret text.')
    expect((await imported(realm, [personOf('ann', other)])).code).toBe(0)
    for (const _ of [1, 2]) {
      const { code, stderr } = await imported(
        realm,
        [personOf('ann', recent(totp))],
        '--if-exists',
        'overwrite',
      )
      expect(code, stderr).toBe(0)
    }
    const types = (await credentialsOf(realm, 'ann')).map(({ type }: { type: string }) => type)
    expect(types).toEqual(['password', 'otp'])
    // Users who have none in the file keep theirs.
    const kept = await imported(realm, [personOf('ann')], '--if-exists', 'overwrite')
    expect(kept.code, kept.stderr).toBe(0)
    const whole = await signIn(realm, 'ann', appOf(usual).generate())
    expect(whole.isSignedIn(realm)).toBe(true)
  })

  it.each([
    ['codes by counter', recent({ ...totp, subType: 'hotp' }), 'otp'],
    ['codes by counter before Keycloak 8', former({ type: 'hotp' }), 'hotp'],
    ['an algorithm that is not known', recent({ ...totp, algorithm: 'HmacMD5' }), 'otp'],
    ['a security key', { ...recent({}), type: 'webauthn' }, 'webauthn'],
  ])('are left out with %s, and the person is told as such', async (_title, factor, type) => {
    const realm = await newRealm()
    const { code, stderr } = await imported(realm, [personOf('ann', factor)])
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(new RegExp(`credentials \\(${type}\\).*1 user`))
    expect((await credentialsOf(realm, 'ann')).length).toBe(1)
  })

  it('are refused where they are broken, by the place of the user', async () => {
    const realm = await newRealm()
    const broken = { ...recent(totp), secretData: '{"value":' }
    const { code, stderr } = await imported(realm, [personOf('fine'), personOf('ann', broken)])
    expect(code).toBe(3)
    expect(stderr).toContain('user 2 of')
    expect(stderr).toContain('credentials')
    const empty = await imported(realm, [personOf('ann', recent(totp, ''))])
    expect(empty.code).toBe(3)
    expect(empty.stderr).toContain('user 1 of')
  })
})
