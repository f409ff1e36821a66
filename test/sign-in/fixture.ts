/** The sign-in pages behind a real port, on a real database, and a browser that keeps cookies as one does. */

import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { openBroker } from '#server/broker/open.ts'
import { loadConfig } from '#server/config/index.ts'
import { createApprovals } from '#server/credentials/devices/approvals.ts'
import { createDevices } from '#server/credentials/devices/devices.ts'
import { createFactors } from '#server/credentials/factors/factors.ts'
import { createPasskeys } from '#server/credentials/factors/passkeys.ts'
import { openHttp } from '#server/http/open.ts'
import { createHttp } from '#server/http/server.ts'
import type { RealmKeys } from '#server/keys/realm-keys.ts'
import type { Vault } from '#server/keys/vault.ts'
import { createLogger } from '#server/platform/logger.ts'
import { keyringFrom } from '#server/platform/sealing.ts'
import { openSessions, type Sessions } from '#server/sessions/sessions.ts'
import { openSignIn } from '#server/sign-in/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { createLinks } from '#server/users/links/links.ts'
import { createAddressNotice } from '#server/users/messages/address-notice.ts'
import { createAddressUndos } from '#server/users/messages/address-undos.ts'
import { createInvitations } from '#server/users/organizations/invitations.ts'
import { createRanks } from '#server/users/permissions.ts'
import { type Accounts, addRealm, createAccounts, defaultSettings } from '../users/fixture.ts'

export interface Site extends Accounts {
  readonly url: string
  readonly sessions: Sessions
  readonly logins: string[]
  /** Makes a realm, or changes the settings of one. */
  readonly realm: (name: string, settings?: Partial<SettingsDoc>) => Promise<void>
  readonly close: () => Promise<void>
}

/** A page without the challenge for passkeys, which is new on every page. */
export const withoutChallenge = (page: string): string =>
  page.replaceAll(/challenge&quot;:&quot;[^&]+/g, '')

/** The seeds of every realm, and settings. */
const seededView = (realm: string, settings: SettingsDoc): RealmView => {
  const documentOf = (kind: string, key: string, body: unknown) =>
    ({ id: `${kind}/${key}`, realm, kind, key, body }) as StoredDocument
  const documents = [
    ...seeds
      .filter(({ kind }) => kind.kind !== Settings.kind)
      .map(({ kind, key, doc }) => documentOf(kind.kind, key, doc)),
    documentOf(Settings.kind, Settings.kind, settings),
  ]
  const list = (kind: string) => documents.filter((one) => one.kind === kind)
  return {
    realm,
    createdAt: 0,
    seq: 0,
    revision: 1,
    get: async (kind, key) => list(kind).find((one) => one.key === key),
    byId: async (kind, id) => list(kind).find((one) => one.id === id),
    list: async (kind) => list(kind),
  }
}

export const openSite = async (
  storage: Storage,
  {
    baseUrl = 'http://127.0.0.1',
    trustedProxies = '',
    ...accountParts
  }: Parameters<typeof createAccounts>[1] & { baseUrl?: string; trustedProxies?: string } = {},
): Promise<Site> => {
  const accounts = createAccounts(storage, accountParts)
  const sessions = openSessions({ ...accounts, users: { mayImpersonate: async () => true } })
  const realms = new Map<string, SettingsDoc>()
  const logins: string[] = []
  const config = loadConfig({
    env: { IAMCTL_BASE_URL: baseUrl, IAMCTL_TRUSTED_PROXIES: trustedProxies || undefined },
  })
  const app = createHttp({
    config,
    logger: createLogger({ level: 'silent' }),
    clock: accounts.clock,
  })
  const http = openHttp({
    baseUrl,
    clock: accounts.clock,
    secrets: { keyFor: () => randomBytes(32) },
    mapError: () => undefined,
    metrics: { refusalDelayed: () => undefined },
  })
  http.pages.routes(app)
  const factors = createFactors(storage)
  const keyring = keyringFrom([randomBytes(32)])
  const messaging = {
    ready: async () => ({ ready: false, reason: 'there is none here' }) as const,
  }
  const post = { statements: () => [], wake: () => undefined }
  const addressUndos = createAddressUndos(accounts)
  const codeKey = randomBytes(32)
  const copy = {
    fresh: async (realm: string) => {
      const settings = realms.get(realm)
      return settings && seededView(realm, settings)
    },
  }
  /** No realm here has an identity provider: nothing of these is asked. */
  const none = () => {
    throw new Error('there are no identity providers here')
  }
  const signIn = openSignIn({
    ...accounts,
    copy,
    broker: openBroker({
      storage,
      copy,
      clock: accounts.clock,
      secrets: { keyFor: () => codeKey, vault: { seal: none, reveal: none } as unknown as Vault },
      outgoing: { request: none, resolve: none },
      keys: { realmKeys: { of: none } as unknown as RealmKeys },
      recorder: accounts.recorder,
      metrics: { brokerAnswer: none },
      jobs: { enqueueStatements: none, wake: none },
      users: { ranks: createRanks(storage) },
      sessions,
      tokens: { issuers: { known: none, fresh: none, of: none } },
      http,
    }),
    tokens: { issuers: { of: async () => undefined } },
    keyring,
    metrics: {
      login: async (realm, outcome) => void logins.push(`${realm} ${outcome}`),
      mfaChallenge: async () => undefined,
    },
    messaging,
    users: {
      store: accounts.users,
      ranks: createRanks(storage),
      invitations: createInvitations(accounts),
      links: createLinks({ ...accounts, keyring }),
      post,
      addressUndos,
      addressNotice: createAddressNotice({
        ...accounts,
        undos: addressUndos,
        post,
        messaging,
        baseUrl,
      }),
    },
    credentials: {
      passwords: accounts.passwords,
      bruteForce: accounts.bruteForce,
      authenticator: accounts.authenticator,
      factors,
      passkeys: createPasskeys({ ...accounts, factors, key: codeKey, baseUrl }),
      devices: createDevices({ ...accounts, keyring, factors }),
      approvals: createApprovals(accounts),
      codeKey,
    },
    sessions,
    realm: { settingsOf: async (realm) => realms.get(realm) ?? null },
    http,
    baseUrl,
    master: 'master',
  })
  app.register(signIn.routes())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return {
    ...accounts,
    url: `http://127.0.0.1:${port}`,
    sessions,
    logins,
    realm: async (name, settings = {}) => {
      if (!realms.has(name)) await addRealm(storage, name)
      realms.set(name, defaultSettings(settings))
    },
    close: () => app.close(),
  }
}

export interface Answer {
  readonly status: number
  readonly location: string | null
  readonly body: string
  readonly headers: Headers
  readonly setCookies: readonly string[]
}

export interface Sent {
  readonly method?: string
  readonly body?: string
  readonly headers: Record<string, string>
}

/** Keeps cookies by name; follows no redirect, so that a test sees each. */
export class TestBrowser {
  readonly cookies = new Map<string, string>()
  readonly #url: string
  constructor(url: string) {
    this.#url = url
  }

  cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** How a request gets there; for browsers that say what no real one does. */
  protected exchange(path: string, sent: Sent): Promise<Response> {
    return fetch(`${this.#url}${path}`, { ...sent, redirect: 'manual' })
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#send(path, { headers })
  }

  post(
    path: string,
    fields: Record<string, string> | string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.#send(path, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
  }

  /** Opens the form and sends it, as a browser does. */
  async signIn(
    realm: string,
    username: string,
    password: string,
    {
      fields = {},
      headers = {},
    }: Partial<Record<'fields' | 'headers', Record<string, string>>> = {},
  ): Promise<Answer> {
    await this.get(`/realms/${realm}/login`)
    const _csrf = this.cookies.get('XSRF-TOKEN') ?? ''
    return this.post(`/realms/${realm}/login`, { username, password, _csrf, ...fields }, headers)
  }

  async #send(path: string, sent: Sent) {
    const cookie = this.cookieHeader()
    const response = await this.exchange(path, {
      ...sent,
      headers: { ...sent.headers, ...(cookie === '' ? {} : { cookie }) },
    })
    const setCookies = response.headers.getSetCookie()
    for (const line of setCookies) this.#keep(line)
    return {
      status: response.status,
      location: response.headers.get('location'),
      body: await response.text(),
      headers: response.headers,
      setCookies,
    }
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ')
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    const gone = attributes.some((one) => one === 'Max-Age=0' || /^Expires=.*1970/.test(one))
    if (gone) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }
}
