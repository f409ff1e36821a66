/**
 * A directory alone neither admits nor makes an administrator: a holder of manage-identity-providers chooses the server that
 * checks the passwords and names the members of groups.
 */

import { Secret, TOTP } from 'otpauth'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { realmOf, secretOf } from '../../directories/people.ts'
import {
  dnOf,
  group,
  groupBase,
  many,
  openSyncWorld,
  type SyncWorld,
} from '../../directories/sync-world.ts'
import { SignInBrowser } from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'

describe.each(backends)('administrators in a directory on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())
  // A name that is unknown here would be looked up in the directories of earlier tests too.
  afterEach(() => world.admin('DELETE', `/identity-providers/${world.alias()}`))

  const must = async (method: string, path: string, body?: unknown) => {
    const answer = await world.admin(method, path, body)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    return answer.body
  }
  /** A role that grants a permission of the admin API. */
  const adminRole = async (): Promise<string> => {
    const name = `helpdesk-${world.named('')}`
    const { roleId } = await must('POST', '/roles', { name })
    await must('PUT', `/admin-roles/${roleId}`, { permissions: ['view-users'] })
    return name
  }
  const signIn = async (uid: string): Promise<SignInBrowser> => {
    const browser = new SignInBrowser(world.site.site.server.baseUrl)
    await browser.open(`/realms/${realmOf(world.site.site)}/login`)
    await browser.submit({ username: world.named(uid), password: secretOf(world.named(uid)) })
    return browser
  }
  const isSignedIn = (browser: SignInBrowser): boolean =>
    browser.isSignedIn(realmOf(world.site.site))
  const grant = async (uid: string): Promise<number> =>
    (await world.site.grant(world.named(uid), secretOf(world.named(uid)))).status
  const lastFailure = async (): Promise<string | null> =>
    (await world.site.site.events('LOGIN_FAILURE'))[0]?.detail ?? null

  describe('sign in by its password', () => {
    beforeEach(async () => {
      world.add('ada', 'bob')
      await world.provide()
      expect((await world.sync()).body.added).toBe(2)
    })
    const makeAdministrator = async (uid: string): Promise<string> => {
      const { userId } = await world.user(uid)
      await must('POST', `/users/${userId}/roles`, { name: await adminRole() })
      return userId
    }

    it('only beside a factor of the realm, and other users without one', async () => {
      expect([isSignedIn(await signIn('ada')), await grant('ada')]).toEqual([true, 200])
      const userId = await makeAdministrator('ada')
      const alone = await signIn('ada')
      expect([isSignedIn(alone), alone.page?.status]).toEqual([false, 403])
      expect(await lastFailure()).toBe('no-way-through')

      const { secret } = await must('POST', `/users/${userId}/credentials`, { type: 'otp' })
      const totp = new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 })
      const both = await signIn('ada')
      expect(isSignedIn(both)).toBe(false)
      await both.submit({ code: totp.generate() })
      expect(isSignedIn(both)).toBe(true)

      expect([isSignedIn(await signIn('bob')), await grant('bob')]).toEqual([true, 200])
    })

    it('never by the password grant, which asks for no factor', async () => {
      await makeAdministrator('ada')
      expect([await grant('ada'), await lastFailure()]).toEqual([400, 'flow'])
      expect(await grant('bob')).toBe(200)
    })

    it('not at another server that the directory is pointed at, whatever name its entry has', async () => {
      await makeAdministrator('ada')
      const { userId } = await world.user('ada')
      world.ldap.entries = world.ldap.entries.map((entry) =>
        entry.dn === dnOf(world.named('ada'))
          ? {
              ...entry,
              dn: dnOf(world.named('mallory')),
              password: secretOf(world.named('mallory')),
              attributes: { ...entry.attributes, uid: [world.named('mallory')] },
            }
          : entry,
      )
      expect(isSignedIn(await signIn('mallory'))).toBe(false)
      expect(await grant('mallory')).toBe(400)
      const [failure] = await world.site.site.events('LOGIN_FAILURE')
      expect(failure).toMatchObject({ actor: userId, detail: 'flow' })
    })
  })

  describe('a sync adds no member to a group that grants a permission', () => {
    const name = (cn: string): string => `${cn}-${world.named('')}`
    const groupsWith = (...uids: string[]): void => {
      world.ldap.entries = [
        ...world.ldap.entries.filter(({ dn }) => !dn.endsWith(`,${groupBase}`)),
        ...['ops', 'staff'].map((cn) =>
          group(
            name(cn),
            uids.map((uid) => dnOf(world.named(uid))),
          ),
        ),
      ]
    }
    const groupNamed = async (cn: string) => {
      const all = await must('GET', '/groups')
      return all.find((one: { name: string }) => one.name === name(cn))
    }
    /** Two groups of the directory, with ada in both. */
    const prepare = async () => {
      world.add('ada', 'mallory', ...many)
      groupsWith('ada')
      await world.provide({ groupSearchBase: groupBase })
      expect((await world.sync()).body.groups).toMatchObject({ added: 2, joined: 2 })
      return groupNamed('ops')
    }
    const give = (groupId: string, role: string) => must('PUT', `/groups/${groupId}/roles/${role}`)
    const expectRefused = async (): Promise<void> => {
      groupsWith('ada', 'mallory')
      world.add('late')
      const failures = [
        {
          name: name('ops'),
          problem:
            'the group grants view-users: 1 member is not added, because a directory adds no members to such a group; assign the role to users, or to a group that is not of the directory',
        },
      ]
      const expected = { added: 1, failed: 1, groups: { joined: 1, left: 0 }, failures }
      expect((await world.sync('?dryRun=true')).body).toMatchObject(expected)
      // The rest of the sync is done.
      expect((await world.sync()).body).toMatchObject(expected)
      expect((await groupNamed('ops')).memberCount).toBe(1)
      expect((await groupNamed('staff')).memberCount).toBe(2)
    }

    it('directly; leaving the group still works', async () => {
      const { groupId } = await prepare()
      await give(groupId, await adminRole())
      await expectRefused()
      groupsWith('mallory')
      expect((await world.sync()).body.groups).toMatchObject({ joined: 0, left: 2 })
      expect((await groupNamed('ops')).memberCount).toBe(0)
    })

    it('by a composite role', async () => {
      const { groupId } = await prepare()
      const outer = `outer-${world.named('')}`
      await must('POST', '/roles', { name: outer, composites: [await adminRole()] })
      await give(groupId, outer)
      await expectRefused()
    })
  })
})
