/** A server with an organization, and users who are invited into it by real mail. */

import type { Backend } from '../../support/backends.ts'
import { openWorld, password, type SignInBrowser, type World } from '../world.ts'

export interface Invited {
  readonly id: string
  /** What the administrator is answered. */
  readonly made: Readonly<Record<string, unknown>>
  readonly link: string
  /** The link, below the server. */
  readonly path: string
  /** The message. */
  readonly text: string
}

export interface OrganizationWorld extends World {
  /** The page that links lead to. */
  readonly page: string
  readonly acme: string
  addOrganization(alias: string, fields?: object): Promise<string>
  /** Sends an invitation, and reads its link from the mail that arrives. */
  invite(email: string, organization?: string, fields?: object): Promise<Invited>
  /** The status of an invitation that may be refused. */
  inviteStatus(body: object, organization?: string): Promise<number>
  membersOf(organization?: string): Promise<string[]>
  /** The events of new and of refused members. */
  joins(userId: string): Promise<object[]>
  signIn(browser: SignInBrowser, username: string): Promise<void>
}

/** Opens a link, and goes where it leads. */
export const follow = async (browser: SignInBrowser, path: string) => {
  const answer = await browser.open(path)
  return answer.status === 303 && answer.location ? browser.open(answer.location) : answer
}

/** Where the button of the page leads. */
export const nextOf = ({ page }: SignInBrowser): string =>
  /class="button" href="([^"]+)"/.exec(page?.body ?? '')?.[1] ?? ''

export const openOrganizationWorld = async (backend: Backend): Promise<OrganizationWorld> => {
  const world = await openWorld(backend)
  const { server, realm, must } = world
  const addOrganization = async (alias: string, fields: object = {}): Promise<string> =>
    (await must('POST', '/organizations', { alias, name: `The ${alias} company`, ...fields })).id
  const acme = await addOrganization('acme', { redirectUrl: 'https://acme.example/welcome' })
  return {
    ...world,
    page: `/realms/${realm}/invitation`,
    acme,
    addOrganization,
    invite: async (email, organization = acme, fields = {}) => {
      const path = `/organizations/${organization}/invitations`
      const made = await must('POST', path, { email, ...fields })
      await world.settle()
      const mail = world.mail.mails.splice(0).at(-1)
      const text = (mail?.raw ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '=')
      const link = /http\S+\/invitation\?token=[\w-]{43}/.exec(text)?.[0] ?? ''
      return { id: made.id, made, link, path: link.replace(server.baseUrl, ''), text }
    },
    inviteStatus: async (body, organization = acme) => {
      const admin = await server.signedIn('master', 'admin')
      const path = `/admin/realms/${realm}/organizations/${organization}/invitations`
      return (await admin.send('POST', path, body)).status
    },
    membersOf: async (organization = acme) =>
      (await must('GET', `/organizations/${organization}/members`)).map(
        ({ username }: { username: string }) => username,
      ),
    joins: (userId) =>
      server.areas.storage.db
        .selectFrom('audit_events')
        .select(['outcome', 'resource_id as resourceId', 'detail'])
        .where('type', '=', 'JOIN_ORGANIZATION')
        .where('actor', '=', userId)
        .execute(),
    signIn: async (browser, username) => {
      await browser.open(`/realms/${realm}/login`)
      await browser.submit({ username, password })
    },
  }
}
