/** Every request that causes a message to a user: how to send it, and its limit. */

import type { Answer } from '../sign-in/fixture.ts'
import { password, SignInBrowser, type World } from '../sign-in/world.ts'

const login = '/realms/shop/login'

/** Comes from wherever it says: the server trusts the proxy in front of it. */
export class DistantBrowser extends SignInBrowser {
  source = '192.0.2.1'
  override get(path: string): Promise<Answer> {
    return super.get(path, { 'x-forwarded-for': this.source })
  }
  override post(path: string, fields: Record<string, string>): Promise<Answer> {
    return super.post(path, fields, { 'x-forwarded-for': this.source })
  }
}

export interface Door {
  readonly executions: Parameters<World['setFlow']>[0]
  readonly settings?: Record<string, unknown>
  /** What the users must have. */
  readonly needs?: 'device' | 'unverified'
  /** Users who have proved a factor, and clients, have four times as much as visitors. */
  readonly factor: 1 | 4
  /** What is bounded beside the address. */
  readonly bounds: readonly ('source' | 'realm' | 'client')[]
  /** Only one question waits at a time, for all limits. */
  readonly isQuestion?: true
  readonly open: (browser: DistantBrowser, name: string) => Promise<Answer>
}

const first = { authenticator: 'username-password' }
const name = { authenticator: 'identify' }

const byName: Door['open'] = async (browser, username) => {
  await browser.open(login)
  return browser.submit({ username })
}
const byPassword: Door['open'] = async (browser, username) => {
  await browser.open(login)
  return browser.submit({ username, password })
}

export const cibaClient = { client_id: 'bank', client_secret: '' }

const visitor = { factor: 1, bounds: ['source', 'realm'] } as const
const user = { factor: 4, bounds: ['source'] } as const

export const doors: Readonly<Record<string, Door>> = {
  'a forgotten password': {
    ...visitor,
    executions: [first],
    open: async (browser, username) => {
      await browser.open(`${login}/forgot`)
      return browser.submit({ username })
    },
  },
  'a link by mail': {
    ...visitor,
    executions: [name, { authenticator: 'email-link' }],
    open: byName,
  },
  'a code by mail': {
    ...visitor,
    executions: [name, { authenticator: 'email-code' }],
    open: byName,
  },
  'a code by SMS': {
    ...visitor,
    executions: [name, { authenticator: 'sms-code' }],
    open: byName,
  },
  'an address that is to be verified': {
    ...visitor,
    executions: [first],
    settings: { verifyEmail: true },
    needs: 'unverified',
    open: byPassword,
  },
  'a question to a device by the name alone': {
    ...visitor,
    executions: [name, { authenticator: 'push' }],
    needs: 'device',
    isQuestion: true,
    open: byName,
  },
  'a code by mail after the password': {
    ...user,
    executions: [first, { authenticator: 'email-code' }],
    open: byPassword,
  },
  'a code by SMS after the password': {
    ...user,
    executions: [first, { authenticator: 'sms-code' }],
    open: byPassword,
  },
  'a question to a device after the password': {
    ...user,
    executions: [first, { authenticator: 'push' }],
    needs: 'device',
    isQuestion: true,
    open: byPassword,
  },
  'a client that asks for the user (CIBA)': {
    factor: 4,
    bounds: ['client'],
    executions: [first],
    open: (browser, login_hint) =>
      browser.post('/realms/shop/backchannel-authentication', {
        ...cibaClient,
        scope: 'openid',
        login_hint,
      }),
  },
}

/** Requests that need neither a password nor a client. */
export const anonymous = [
  'a forgotten password',
  'a link by mail',
  'a code by mail',
  'a code by SMS',
  'a question to a device by the name alone',
]
