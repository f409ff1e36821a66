/** The link between a user and the entry of a directory: what the user, an administrator and another provider may do about it. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { signIn } from '../support/processes/browserless.ts'
import { realmOf, secretOf, uuidOf } from './people.ts'
import { counts, openSyncWorld, type SyncWorld } from './sync-world.ts'

describe.each(anyBackend)('a link to a directory on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  const linksOf = async (userId: string): Promise<string[]> => {
    const { body } = await world.admin('GET', `/users/${userId}/federated-identity`)
    return body.map(({ identityProvider }: { identityProvider: string }) => identityProvider)
  }

  it('is not removed by its user, whose account would outlive the entry; other links are', async () => {
    world.add('ada')
    await world.provide()
    await world.sync()
    const { userId } = await world.user('ada')
    const partner = `partner-${world.alias()}`
    const config = { issuer: 'https://idp.example', clientId: 'us', clientSecret: 'a secret there' }
    await world.admin('POST', '/identity-providers', { alias: partner, protocol: 'oidc', config })
    await world.admin('POST', `/users/${userId}/federated-identity/${partner}`, { userId: 'x' })

    const realm = realmOf(world.site.site)
    const name = world.named('ada')
    const browser = await signIn(world.site.site.server.baseUrl, realm, name, secretOf(name))
    const path = `/realms/${realm}/account/identities`
    const page = String((await browser.send('GET', path)).body)
    expect(page).toContain('Corp Directory')
    const offered = [...page.matchAll(/name="unlink" value="([^"]+)"/g)].map(([, id]) => id ?? '')
    expect(offered).toHaveLength(1)
    const csrf = /name="_csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
    const unlink = async (id: string): Promise<number> => {
      const form = new URLSearchParams({ _csrf: csrf, unlink: id })
      return (await browser.send('POST', path, form)).status
    }
    const rows = await world.site.site.server.areas.storage.db
      .selectFrom('federated_links')
      .select(['id', 'issuer'])
      .where('user_id', '=', userId)
      .execute()
    expect(await unlink(rows.find(({ issuer }) => issuer === 'directory')?.id ?? '')).toBe(409)
    expect(await unlink(offered[0] ?? '')).toBe(303)
    expect(await linksOf(userId)).toEqual([world.alias()])
  })

  it('is made by an administrator for a local user who has the name of an entry', async () => {
    const { body: local } = await world.admin('POST', '/users', { username: world.named('ada') })
    world.add('ada')
    await world.provide()
    expect(counts(await world.sync())).toEqual([0, 0, 0, 1])
    const path = `/users/${local.userId}/federated-identity/${world.alias()}`
    const id = uuidOf(world.named('ada')).toUpperCase()
    const other = await world.admin('POST', path, { userId: id, issuer: 'ldap://elsewhere' })
    expect(other.status).toBe(400)
    expect((await world.admin('POST', path, { userId: id })).status).toBe(204)
    expect(counts(await world.sync('?full=true'))).toEqual([0, 1, 0, 0])
    expect(await world.user('ada')).toMatchObject({ userId: local.userId, lastName: 'Doe' })
  })
})
