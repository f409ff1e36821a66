/** A user with an account: a signed-in browser, and JSON requests as its pages send them. */

import type { NewSession } from '#server/sessions/sessions.ts'
import { statement } from '#server/storage/statements.ts'
import type { Answer } from '../sign-in/fixture.ts'
import { SignInBrowser, type World } from '../sign-in/world.ts'
import { type Answer as Reply, send } from '../support/server.ts'

export interface Person {
  readonly userId: string
  readonly browser: SignInBrowser
  /** Below the account, as JSON, with the CSRF token of the session. */
  api(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Reply>
}

/** Sends the form of a page of the account: signing out and the like are forms too. */
class AccountBrowser extends SignInBrowser {
  override async submit(fields: Record<string, string>) {
    const action = /<form[^>]*action="([^"]+\/account\/[^"]+)"/.exec(this.page?.body ?? '')?.[1]
    if (action === undefined) return super.submit(fields)
    const _csrf = this.cookies.get('XSRF-TOKEN') ?? ''
    const answer = await this.post(action.replaceAll('&amp;', '&'), { _csrf, ...fields })
    if (answer.location !== null) return this.open(answer.location)
    this.page = answer
    return answer
  }

  /** Follows from page to page of the account. */
  override async open(path: string): Promise<Answer> {
    const answer = await super.open(path)
    const { location } = answer
    return location?.includes('/account/') ? this.open(location) : answer
  }

  override get(path: string, headers: Record<string, string> = {}) {
    return super.get(path, { accept: 'text/html', ...headers })
  }
}

/** A session as a sign-in would leave it, without the cost of one. */
export const personOf = async (
  { server, realm }: World,
  userId: string,
  more: Partial<NewSession> = {},
): Promise<Person> => {
  const settings = await server.areas.realm.settingsOf(realm)
  if (!settings) throw new Error(`no realm ${realm}`)
  const { statements, cookieValue } = server.areas.sessions.openStatements({
    realm,
    userId,
    ip: '127.0.0.1',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    rememberMe: false,
    settings,
    ...more,
  })
  await server.areas.storage.commit(statements)
  const browser = new AccountBrowser(server.baseUrl)
  browser.cookies.set(`iam-session-${realm}`, cookieValue)
  await browser.get(`/realms/${realm}/login`)
  const cookie = `iam-session-${realm}=${cookieValue}`
  return {
    userId,
    browser,
    api: (method, path, body, headers = {}) =>
      send(server.app, method, `/realms/${realm}/account${path}`, body, {
        cookie,
        'x-xsrf-token': browser.cookies.get('XSRF-TOKEN') ?? '',
        ...headers,
      }),
  }
}

/** A sign-in with two factors. */
export const strong = { amr: ['pwd', 'otp'], acr: '2' } as const

/** As if a file declared the user. */
export const manage = async ({ server }: World, userId: string): Promise<void> => {
  const { storage } = server.areas
  const managed = storage.db.updateTable('users').set({ managed: 1 }).where('id', '=', userId)
  await storage.commit([statement(managed)])
}
