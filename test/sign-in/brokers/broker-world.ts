/** A realm with identity providers, and browsers that sign in through them. */

import { expect } from 'vitest'
import { sha256 } from '#server/platform/random.ts'
import type { Backend } from '../../support/backends.ts'
import type { Answer } from '../fixture.ts'
import { openWorld, type SignInBrowser, type World } from '../world.ts'
import { startUpstream, type Upstream, type UpstreamUser } from './upstream.ts'

export interface BrokerWorld extends World {
  readonly upstream: Upstream
  /** Makes a provider, or changes one. */
  provider(alias: string, change?: Record<string, unknown>): Promise<void>
  /** To the provider: the address there. */
  leave(browser: SignInBrowser, alias?: string, query?: string): Promise<string>
  /** There and back: the page, or the redirect, that the answer leads to. */
  through(browser: SignInBrowser, user: UpstreamUser, alias?: string): Promise<Answer>
  /** Brings an answer to this browser, and follows. */
  comeBack(browser: SignInBrowser, address: string): Promise<Answer>
  /** The address, and the id, of the user of the session of a browser. */
  whoIs(browser: SignInBrowser): Promise<string | undefined>
  userIdOf(browser: SignInBrowser): Promise<string | undefined>
  /** Sends the form of a page of the account. */
  account(browser: SignInBrowser, page: string, fields: Record<string, string>): Promise<Answer>
  linksOf(userId: string): Promise<{ provider: string; subject: string; user_id: string }[]>
  userNamed(name: string): Promise<Record<string, unknown> | undefined>
}

export const login = '/realms/shop/login'

export const openBrokerWorld = async (
  backend: Backend,
  options: { readonly host?: string } = {},
): Promise<BrokerWorld> => {
  const env = { IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
  const world = await openWorld(backend, { ...options, env })
  const upstream = await startUpstream(() => world.clock.now())
  const { db } = world.server.areas.storage
  const made = new Set<string>()
  const pathOf = (address: string): string => address.replace(world.server.baseUrl, '')

  const provider: BrokerWorld['provider'] = async (alias, change = {}) => {
    const body = {
      alias,
      protocol: 'oidc',
      displayName: `Provider ${alias}`,
      trustEmail: true,
      config: {
        discoveryUrl: `${upstream.issuer}/.well-known/openid-configuration`,
        issuer: upstream.issuer,
        clientId: `client-of-${alias}`,
        ...(made.has(alias) ? {} : { clientSecret: 'a secret of the client there' }),
      },
      ...change,
    }
    await (made.has(alias)
      ? world.must('PUT', `/identity-providers/${alias}`, body)
      : world.must('POST', '/identity-providers', body))
    made.add(alias)
  }

  const leave: BrokerWorld['leave'] = async (browser, alias = 'corp', query = '') => {
    const answer = await browser.get(`/realms/shop/broker/${alias}/login${query}`)
    expect(answer.status, answer.body).toBe(303)
    return answer.location ?? ''
  }

  const comeBack: BrokerWorld['comeBack'] = async (browser, address) => {
    const answer = await browser.get(pathOf(address))
    return answer.status === 303 ? browser.open(answer.location ?? '') : answer
  }

  const userOf = (browser: SignInBrowser) =>
    db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['users.id', 'users.email'])
      .where('sessions.id', '=', sha256(browser.cookies.get('iam-session-shop') ?? ''))
      .executeTakeFirst()

  return {
    ...world,
    upstream,
    provider,
    leave,
    comeBack,
    through: async (browser, user, alias) =>
      comeBack(browser, await upstream.authorize(await leave(browser, alias), user)),
    whoIs: async (browser) => (await userOf(browser))?.email ?? undefined,
    userIdOf: async (browser) => (await userOf(browser))?.id,
    account: async (browser, page, fields) => {
      const path = `/realms/shop/account/${page}`
      const { body } = await browser.get(path)
      const _csrf = /name="_csrf" value="([^"]+)"/.exec(body)?.[1] ?? ''
      const answer = await browser.post(path, { _csrf, ...fields })
      return answer.status === 303 ? browser.open(answer.location ?? '') : answer
    },
    linksOf: (userId) =>
      db
        .selectFrom('federated_links')
        .select(['provider', 'subject', 'user_id'])
        .where('user_id', '=', userId)
        .execute(),
    userNamed: (name) =>
      db
        .selectFrom('users')
        .selectAll()
        .where('realm', '=', 'shop')
        .where((eb) => eb.or([eb('email', '=', name), eb('username', '=', name)]))
        .executeTakeFirst(),
    close: async () => {
      await upstream.close()
      await world.close()
    },
  }
}

export const heading = ({ body }: Answer): string => /<h1>([^<]*)<\/h1>/.exec(body)?.[1] ?? ''
