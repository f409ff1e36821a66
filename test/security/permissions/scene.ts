/**
 * A realm with an administrator who never signs in, and an attacker with one permission who reads every mail of the
 * realm. `lost` lists changed credentials of the administrator and changed permissions.
 */

import type { Permission } from '#schemas/access/permissions.ts'
import { password, SignInBrowser, tokenIn, type World } from '../../sign-in/world.ts'
import type { Client } from '../../support/server.ts'
import { gains, grantsOf, type Principal, principalsOf } from './powers.ts'

/** What the attacker tries to set, and then signs in with. */
export const guess = 'the attacker knows this one 7'
export const secret = 'a secret that the attacker knows, long enough'

export interface Scene {
  readonly world: World
  readonly realm: string
  readonly base: string
  readonly held: ReadonlySet<Permission>
  readonly holder: Client
  readonly boss: { readonly id: string; readonly username: string; readonly email: string }
  readonly ids: Readonly<Record<'pipeline' | 'admins' | 'adminRole', string>>
}

export const openScene = async (
  world: World,
  realm: string,
  permission: Permission,
  held: ReadonlySet<Permission>,
): Promise<Scene> => {
  const { server, mail } = world
  const base = await server.createRealm(realm)
  const must = async (method: string, path: string, body?: unknown) => {
    const answer = await server.admin.send(method, `${base}${path}`, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await must('PUT', '/messaging/providers', {
    channel: 'EMAIL',
    driver: 'smtp',
    fromAddress: `iam@${realm}.example`,
    config: { host: 'localhost', port: mail.port, ca: mail.ca },
  })
  const { realmId: _, ...before } = await must('GET', '/settings')
  await must('PUT', '/settings', {
    ...before,
    resetPasswordAllowed: true,
    // A lock or a limit that one attack has reached would hide what the next one opens.
    bruteForceProtected: false,
    messagesPerAddress: 1000,
    messagesPerSource: 100_000,
    messagesPerRealm: 1_000_000,
  })
  const { roleId: adminRole } = await must('GET', '/roles/admin')
  const { groupId: admins } = await must('POST', '/groups', { name: 'Admins' })
  await must('PUT', `/groups/${admins}/roles/${adminRole}`)
  const email = `boss@${realm}.example`
  const { userId: id } = await must('POST', '/users', {
    username: 'boss',
    email,
    emailVerified: true,
    attributes: { phoneNumber: ['+31612345678'] },
  })
  await must('PUT', `/users/${id}/password`, { newPassword: password })
  await must('PUT', `/groups/${admins}/members/${id}`)
  const { id: pipeline } = await must('POST', '/clients', {
    clientId: 'pipeline',
    grantTypes: ['client_credentials'],
    serviceAccountsEnabled: true,
    audiences: [`${server.baseUrl}/admin`],
  })
  await must('POST', `/clients/${pipeline}/service-account/roles`, { name: 'admin' })
  return {
    world,
    realm,
    base,
    held,
    holder: await server.userWith(realm, [permission]),
    boss: { id, username: 'boss', email },
    ids: { pipeline, admins, adminRole },
  }
}

const mailTo = async ({ world }: Scene, address: string, from: number): Promise<string[]> => {
  await world.settle()
  return world.mail.mails
    .slice(from)
    .filter(({ to }) => to.includes(address))
    .map(({ raw }) => raw.replaceAll('=\r\n', '').replaceAll('=3D', '='))
}

/** Follows a link, or types a code, that was sent to the administrator; then answers all further pages. */
const openMessages = async (scene: Scene, browser: SignInBrowser, from: number): Promise<void> => {
  const { world, boss } = scene
  for (const mail of await mailTo(scene, boss.email, from)) {
    const link = /http:\S+token=\S+/.exec(mail)?.[0]?.replace(world.server.baseUrl, '')
    const code = /\b(\d{6})\b/.exec(mail.split('\r\n\r\n').slice(1).join())?.[1]
    if (link) {
      await browser.open(link)
      await browser.submit({ token: tokenIn(link) })
    } else if (code) await browser.submit({ code })
    await browser.submit({ password: guess, passwordConfirm: guess })
  }
}

const signIn = async (scene: Scene, path: string, fields: Record<string, string>) => {
  const { world, realm } = scene
  const browser = new SignInBrowser(world.server.baseUrl)
  const from = world.mail.mails.length
  const page = await browser.open(`/realms/${realm}/login${path}`)
  if (page.status !== 200) return
  await browser.submit(fields)
  await openMessages(scene, browser, from)
}

const tokens = async ({ world: { server }, realm, boss }: Scene): Promise<void> => {
  const forms = [
    { grant_type: 'client_credentials', client_id: 'pipeline', client_secret: secret },
    ...['mine', 'pipeline'].map((client_id) => ({
      grant_type: 'password',
      client_id,
      client_secret: secret,
      username: boss.username,
      password: guess,
      scope: 'openid account',
    })),
  ]
  for (const form of forms) {
    const { status, body } = await server.anonymous.send(
      'POST',
      `/realms/${realm}/token`,
      new URLSearchParams(form).toString(),
      { 'content-type': 'application/x-www-form-urlencoded' },
    )
    if (status === 200 && form.client_id === 'pipeline') throw new Error(`a token: ${body.scope}`)
  }
}

/** Everything that is tried after a write that was accepted. */
export const followUps = async (scene: Scene): Promise<string[]> => {
  const { boss } = scene
  await signIn(scene, '/forgot', { username: boss.username })
  await signIn(scene, '', { username: boss.username, password: guess })
  await signIn(scene, '', { username: boss.email })
  try {
    await tokens(scene)
  } catch (error) {
    return [String(error)]
  }
  return []
}

/** To what was before, step by step: what another permission took away must not come back. */
export const rollBack = async ({ world, realm, holder, base }: Scene): Promise<void> => {
  const { revision = 1 } = (await world.server.areas.realm.realms.find(realm)) ?? {}
  for (let to = revision - 1; to > Math.max(1, revision - 10); to -= 1)
    await holder.send('POST', `${base}/revisions/${to}/rollback`, {})
}

export interface Standing {
  readonly principals: readonly Principal[]
  readonly roles: readonly string[]
  /** Of users, by their id. */
  readonly sessions: readonly string[]
}

export const standingOf = async ({ world: { server }, realm }: Scene): Promise<Standing> => {
  const { db } = server.areas.storage
  const of = async (table: 'sessions' | 'token_grants') =>
    (await db.selectFrom(table).select('user_id').where('realm', '=', realm).execute()).map(
      ({ user_id }) => user_id ?? '',
    )
  return {
    principals: await principalsOf(server, realm),
    roles: await grantsOf(server, realm),
    sessions: [...(await of('sessions')), ...(await of('token_grants'))],
  }
}

export const lost = ({ held }: Scene, before: Standing, after: Standing): string[] => {
  const stronger = before.principals
    .filter(({ permissions }) => permissions.some((one) => !held.has(one)))
    .map(({ name }) => name.replace('user ', ''))
  const count = (all: readonly string[], id: string) => all.filter((one) => one === id).length
  return [
    ...gains(before.principals, after.principals, held),
    ...stronger
      .filter((id) => count(after.sessions, id) > count(before.sessions, id))
      .map((id) => `a session or token of ${id}`),
    ...after.roles
      .filter((one) => !before.roles.includes(one) && !one.endsWith(' '))
      .map((one) => `a role holds more: ${one}`),
  ]
}
