/** Sign-ins of users of a directory whose state, there or here, is not the usual one. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { change } from '../oidc/relying-party.ts'
import { anyBackend } from '../support/backends.ts'
import { secretOf } from './people.ts'
import { openSyncWorld, type SyncWorld } from './sync-world.ts'

describe.each(anyBackend)('a user of a directory on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
    await change(world.site.site, '/settings', { bruteForceProtected: false })
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  const signIn = async (uid: string, password = secretOf(world.named(uid))) =>
    (await world.site.grant(world.named(uid), password)).status

  it('cannot sign in through a directory that is linkOnly, known here or not, and has a password of the realm', async () => {
    world.add('ada', 'bob')
    await world.provide()
    expect(await signIn('ada')).toBe(200)
    world.ldap.forget()
    await world.provide({}, { linkOnly: true })
    expect([await signIn('ada'), await signIn('bob')]).toEqual([400, 400])
    const { userId } = await world.user('ada')
    const own = 'a long enough passphrase 8'
    const set = await world.admin('PUT', `/users/${userId}/password`, { newPassword: own })
    expect(set.status).toBe(204)
    expect(await signIn('ada', own)).toBe(200)
    expect(world.ldap.binds).toEqual([])
    await world.provide()
    expect([await signIn('ada'), await signIn('ada', own)]).toEqual([200, 400])
  })

  it('signs in whose address there is now that of another user, and keeps the own one', async () => {
    world.add('ada', 'bob')
    await world.provide({}, { syncMode: 'FORCE' })
    await world.sync()
    const { email } = await world.user('bob')
    world.change('ada', { mail: [email], sn: ['Lovelace'] })
    expect(await signIn('ada')).toBe(200)
    expect(await world.user('ada')).toMatchObject({
      email: `${world.named('ada')}@corp.example`,
      lastName: 'Lovelace',
    })
    expect(await world.user('bob')).toMatchObject({ email })
  })

  it('who is locked in 389 Directory Server is refused: the directory is not away', async () => {
    world.add('ada')
    await world.provide()
    world.ldap.faults.bind = (dn) =>
      dn.startsWith('uid=ada')
        ? { code: 19, message: 'Exceed password retry limit. Please try later.' }
        : undefined
    expect(await signIn('ada')).toBe(400)
    const [failure] = await world.site.site.events('LOGIN_FAILURE')
    expect(failure?.detail).toBe('user-locked')
  })

  it('is found by equality alone: no other comparison of {0} is accepted', async () => {
    for (const comparison of ['>=', '<=', '~=', ':caseExactMatch:=']) {
      const { status, body } = await world.provide({ userSearchFilter: `(uid${comparison}{0})` })
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('equality')])
    }
    expect((await world.provide({ userSearchFilter: '(|(uid={0})(mail={0}))' })).status).toBe(201)
  })
})
