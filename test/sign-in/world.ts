/** A whole server with a realm, users, and a mailbox that real mail arrives in; and browsers that sign in to it. */

import { Secret, TOTP } from 'otpauth'
import type { FlowDoc } from '#schemas/kinds/sign-in/flow.ts'
import type { RunningJobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { startBackground } from '#server/run/background.ts'
import { type MailPeer, startMailPeer } from '../messaging/mail-peer.ts'
import type { Backend } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Answer, TestBrowser } from './fixture.ts'

export const password = 'a long enough secret 77'

export class TestClock implements Clock {
  #ahead = 0
  now(): number {
    return Date.now() + this.#ahead
  }
  advance(ms: number): void {
    this.#ahead += ms
  }
}

type Execution = FlowDoc['authenticationExecutions'][number]

export interface World {
  readonly server: TestServer
  readonly clock: TestClock
  readonly realm: string
  readonly mail: MailPeer
  /** A request of an administrator that has to succeed, below the realm; its answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  must(method: string, path: string, body?: unknown): Promise<any>
  /** Sends what waits to be sent. */
  settle(): Promise<void>
  /** Sends what waits to be sent, and forgets all of it: a test then sees its own mail alone. */
  forgetMail(): Promise<void>
  /** The last mail that was sent, its lines put together again. */
  lastMail(): Promise<string>
  /** The code, or the link below the server, in it. */
  mailedCode(): Promise<string>
  mailedLink(): Promise<string>
  addUser(username: string, fields?: Record<string, unknown>): Promise<string>
  addTotp(userId: string): Promise<() => string>
  setFlow(
    executions: readonly Partial<Execution>[],
    sub?: readonly Partial<Execution>[],
  ): Promise<void>
  settings(change: Record<string, unknown>): Promise<void>
  browser(): SignInBrowser
  close(): Promise<void>
}

/** Follows the pages of a sign-in as a person would: fills the form that is there. */
export class SignInBrowser extends TestBrowser {
  page: Answer | undefined
  path = ''

  async open(path: string): Promise<Answer> {
    this.path = path
    this.page = await this.get(path)
    return this.page
  }

  /** Sends the form of the page, and follows to where it leads. */
  async submit(fields: Record<string, string>): Promise<Answer> {
    const body = this.page?.body ?? ''
    const action = /<form[^>]*action="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&')
    const _csrf = /name="_csrf" value="([^"]+)"/.exec(body)?.[1] ?? ''
    const answer = await this.post(action ?? this.path, { _csrf, ...fields })
    if (answer.status !== 303 || answer.location === null) {
      this.page = answer
      return answer
    }
    return this.open(answer.location)
  }

  isSignedIn(realm: string): boolean {
    return this.cookies.has(`iam-session-${realm}`)
  }
}

/** Of a link in a mail. */
export const tokenIn = (link: string): string =>
  new URL(link, 'http://x').searchParams.get('token') ?? ''

export const openWorld = async (
  backend: Backend,
  {
    env,
    ...options
  }: {
    readonly host?: string
    readonly env?: Readonly<Record<string, string>>
  } = {},
): Promise<World> => {
  const clock = new TestClock()
  const mail = await startMailPeer({ authOptional: true })
  const server = await startServer(backend, {
    clock,
    listen: true,
    ...options,
    env: { IAMCTL_OUTGOING_ALLOW: 'localhost,127.0.0.1', ...env },
  })
  const jobs: RunningJobs = await startBackground(server.areas)
  const realm = 'shop'
  const base = await server.createRealm(realm)
  const must = async (method: string, path: string, body?: unknown) => {
    // Anew each time: tests move the clock beyond the life of a session.
    const admin = await server.signedIn('master', 'admin')
    const answer = await admin.send(method, `${base}${path}`, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await must('PUT', '/messaging/providers', {
    channel: 'EMAIL',
    driver: 'smtp',
    fromAddress: 'iam@shop.example',
    config: { host: 'localhost', port: mail.port, ca: mail.ca },
  })
  const settle = async () => {
    server.areas.jobs.wake()
    await jobs.idle()
  }
  const lastMail = async () => {
    await settle()
    return (mail.mails.at(-1)?.raw ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '=')
  }
  const run = (execution: Partial<Execution>) => ({ requirement: 'REQUIRED', ...execution })
  return {
    server,
    must,
    clock,
    realm,
    mail,
    settle,
    forgetMail: async () => {
      await settle()
      mail.mails.length = 0
    },
    lastMail,
    mailedCode: async () => {
      const [, ...text] = (await lastMail()).split('\r\n\r\n')
      return /\b(\d{6})\b/.exec(text.join())?.[1] ?? ''
    },
    mailedLink: async () =>
      (/http:\S+/.exec(await lastMail())?.[0] ?? '/none').replace(server.baseUrl, ''),
    addUser: async (username, fields = {}) => {
      const { userId } = await must('POST', '/users', {
        username,
        email: `${username}@shop.example`,
        ...fields,
      })
      await must('PUT', `/users/${userId}/password`, { newPassword: password })
      return userId
    },
    addTotp: async (userId) => {
      const { secret } = await must('POST', `/users/${userId}/credentials`, { type: 'otp' })
      const totp = new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 })
      return () => totp.generate({ timestamp: clock.now() })
    },
    setFlow: async (executions, sub) => {
      const put = (alias: string, steps: readonly Partial<Execution>[], more = {}) =>
        must('PUT', `/flows/${alias}`, { alias, ...more, authenticationExecutions: steps.map(run) })
      if (sub) {
        // The flow that is there may not work with the new part, nor the new flow with the part that is there.
        await put('browser', [{ authenticator: 'username-password' }])
        await put('browser-second-factor', sub, { topLevel: false })
      }
      await put('browser', executions)
    },
    settings: async (change) => {
      const { realmId: _, ...before } = await must('GET', '/settings')
      await must('PUT', '/settings', { ...before, ...change })
    },
    browser: () => new SignInBrowser(server.baseUrl),
    close: async () => {
      await jobs.stop()
      await server.close()
      await mail.close()
    },
  }
}
