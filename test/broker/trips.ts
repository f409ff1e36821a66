/** A realm with identity providers, and browsers that go there and back through the broker of a whole server. */

import type { Hints } from '#server/broker/open.ts'
import { type UpstreamIdentity, UpstreamRefused } from '#server/broker/protocol.ts'
import type { Purpose } from '#server/broker/trips/trips.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { TestClock } from '../sign-in/world.ts'
import type { Backend } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import type { Person, Upstream } from './upstream.ts'

export interface Broker {
  readonly server: TestServer
  readonly clock: TestClock
  /** A request of an administrator that has to succeed, below the realm; its answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  must(method: string, path: string, body?: unknown): Promise<any>
  issuer(): Promise<Issuer>
  /** The address that the browser is sent to. */
  leave(
    alias: string,
    options?: { hints?: Hints; browser?: string; purpose?: Purpose },
  ): Promise<string>
  /** The browser comes back to this address. */
  arrive(
    address: string,
    options?: { alias?: string; browser?: string | undefined },
  ): Promise<UpstreamIdentity>
  /** There and back again. */
  trip(
    alias: string,
    upstream: Pick<Upstream, 'agree'>,
    person: Person,
    options?: { hints?: Hints; extra?: Record<string, string> },
  ): Promise<UpstreamIdentity>
  close(): Promise<void>
}

const browser = 'b'.repeat(43)
const signIn: Purpose = { kind: 'sign-in', data: null }

export const openBrokerRealm = async (
  backend: Backend,
  env: Readonly<Record<string, string>> = {},
): Promise<Broker> => {
  const clock = new TestClock()
  const server = await startServer(backend, {
    clock,
    listen: true,
    env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true', ...env },
  })
  const base = await server.createRealm('shop')
  const { broker, tokens } = server.areas

  const issuer = async (): Promise<Issuer> => {
    const found = await tokens.issuers.fresh('shop')
    if (!found) throw new Error('there is no realm')
    return found
  }

  const leave: Broker['leave'] = async (alias, options = {}) => {
    const { departure } = await broker.begin(
      await issuer(),
      alias,
      options.purpose ?? signIn,
      options.browser ?? browser,
      options.hints,
    )
    if (departure.kind !== 'redirect') throw new Error('the browser is not redirected')
    return departure.url
  }

  const arrive: Broker['arrive'] = async (address, options = {}) => {
    const { pathname, search } = new URL(address)
    const alias = options.alias ?? decodeURIComponent(pathname.split('/').at(-2) ?? '')
    const landing = { method: 'GET', rawQuery: search.slice(1), rawBody: '' } as const
    const used = 'browser' in options ? options.browser : browser
    return (await broker.finish(await issuer(), alias, landing, used)).identity
  }

  return {
    server,
    clock,
    issuer,
    leave,
    arrive,
    must: async (method, path, body) => {
      const admin = await server.signedIn('master', 'admin')
      const answer = await admin.send(method, `${base}${path}`, body)
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
      return answer.body
    },
    trip: async (alias, upstream, person, { hints, extra } = {}) =>
      arrive(upstream.agree(await leave(alias, hints ? { hints } : {}), person, extra)),
    close: () => server.close(),
  }
}

/** Why it was refused: the reason and the message for the log. */
export const refusalOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
    return 'not refused'
  } catch (error) {
    if (error instanceof UpstreamRefused) return `${error.reason}: ${error.message}`
    throw error
  }
}
