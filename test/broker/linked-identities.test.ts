/** Accounts of users at identity providers over the admin API; replacing and deleting a provider. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { type Broker, openBrokerRealm } from './trips.ts'

describe.each(backends)('linked identities on $name', (backend) => {
  let realm: Broker
  const provider = (alias: string) => ({
    alias,
    protocol: 'oidc',
    config: { issuer: `https://${alias}.example`, clientId: 'us' },
  })
  const addUser = async (username: string): Promise<string> =>
    (await realm.must('POST', '/users', { username })).userId
  const send = (method: string, path: string, body?: unknown) =>
    realm.server.admin.send(method, `/admin/realms/shop${path}`, body)

  beforeAll(async () => {
    realm = await openBrokerRealm(backend)
    await realm.must('POST', '/identity-providers', provider('partner'))
  })
  afterAll(() => realm.close())

  it('are listed, linked once, and unlinked', async () => {
    const [ada, bob] = [await addUser('ada'), await addUser('bob')]
    const path = `/users/${ada}/federated-identity/partner`
    expect((await send('POST', path, { userId: 's-1', userName: 'ada@partner' })).status).toBe(204)
    expect(await realm.must('GET', `/users/${ada}/federated-identity`)).toEqual([
      {
        identityProvider: 'partner',
        issuer: 'https://partner.example',
        userId: 's-1',
        userName: 'ada@partner',
        linkedAt: expect.any(Number),
        lastLoginAt: null,
      },
    ])
    // The account is hers, and she has no second one there.
    const taken = await send('POST', `/users/${bob}/federated-identity/partner`, { userId: 's-1' })
    const second = await send('POST', path, { userId: 's-2' })
    expect([taken.status, second.status]).toEqual([409, 409])
    expect((await send('POST', path, { userId: 's-1', extra: 1 })).status).toBe(400)
    const unknown = await send('POST', `/users/${bob}/federated-identity/nowhere`, { userId: 'x' })
    expect(unknown.status).toBe(404)
    expect((await send('DELETE', path)).status).toBe(204)
    expect((await send('DELETE', path)).status).toBe(404)
  })

  it('of an administrator are not linked by one with fewer permissions', async () => {
    const helper = await realm.server.userWith('shop', ['manage-users', 'view-users'])
    const chief = await realm.server.userWith('shop', ['manage-realm'])
    const path = `/admin/realms/shop/users/${chief.userId}/federated-identity/partner`
    expect((await helper.send('POST', path, { userId: 'evil' })).status).toBe(403)
  })

  it('survive a provider that is deleted and made again under its alias; a plan of the deletion says who loses the way in', async () => {
    await realm.must('POST', '/identity-providers', provider('old'))
    const { areas } = realm.server
    const [only, both] = [await addUser('only'), await addUser('both')]
    await realm.must('PUT', `/users/${both}/password`, { newPassword: 'a long enough secret 77' })
    for (const [user, subject] of [
      [only, 'o-1'],
      [both, 'b-1'],
    ] as const)
      await realm.must('POST', `/users/${user}/federated-identity/old`, { userId: subject })
    const changeset = async (operations: object[], dryRun = false) => {
      const { revision } = await realm.must('GET', '/export')
      return realm.must('POST', '/changesets', {
        baseRevision: revision,
        message: 'm',
        source: 'estate',
        provenance: {},
        operations,
        dryRun,
      })
    }
    const document = async (alias: string) => {
      const { view } = await realm.issuer()
      return view.get('identity-provider', alias)
    }
    const before = await document('old')
    const planned = await changeset(
      [{ op: 'delete', kind: 'identity-provider', key: 'old', ifHash: before?.hash }],
      true,
    )
    expect(planned.impacts).toEqual([
      expect.objectContaining({ kind: 'identity-provider', key: 'old', members: 2, users: 1 }),
    ])
    await realm.must('DELETE', '/identity-providers/old')
    expect(await realm.must('GET', `/users/${only}/federated-identity`)).toHaveLength(1)
    await realm.must('POST', '/identity-providers', provider('old'))
    const again = await document('old')
    const account = { issuer: 'https://old.example', subject: 'o-1' }
    const place = { realm: 'shop', id: again?.id ?? '', alias: 'old' }
    expect(await areas.users.links.find(place, account)).toBeUndefined()
    const orphan = await areas.users.links.findOrphan(place, account)
    expect(orphan?.user_id).toBe(only)
    // Another issuer, or another alias, is another provider.
    const other = { ...account, issuer: 'https://evil.example' }
    expect(await areas.users.links.findOrphan(place, other)).toBeUndefined()
    const elsewhere = { ...place, alias: 'partner' }
    expect(await areas.users.links.findOrphan(elsewhere, account)).toBeUndefined()
    if (orphan) await areas.storage.commit([areas.users.links.takeOver(orphan, place)])
    expect((await areas.users.links.find(place, account))?.user_id).toBe(only)
  })

  it('keep tokens sealed, and for their own link alone', async () => {
    const { areas } = realm.server
    const { links } = areas.users
    const ada = await addUser('tokens')
    await realm.must('POST', `/users/${ada}/federated-identity/partner`, { userId: 't-1' })
    const [link] = await links.ofUser(ada)
    if (!link) throw new Error('there is no link')
    const tokens = { accessToken: 'very secret token', refreshToken: 'r' }
    await areas.storage.commit([links.touch(link, { alias: 'partner', tokens })])
    const [stored] = await links.ofUser(ada)
    expect(stored?.tokens).not.toContain('very secret')
    expect(stored && links.tokensOf(stored)).toEqual(tokens)
    expect(() => stored && links.tokensOf({ ...stored, id: 'another' })).toThrow('another record')
  })
})
