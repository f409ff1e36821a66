/** The master realm keeps an administrator who can sign in, for every kind of write. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'
import {
  type Operation,
  put,
  remove,
  role,
  type Sender,
  senderTo,
  user,
} from './changesets/changeset.ts'

const master = '/admin/realms/master'

describe.each(backends)('the last administrator of master on $name', (backend) => {
  let server: TestServer
  let changesets: Sender
  beforeAll(async () => {
    server = await startServer(backend)
    changesets = senderTo(server, 'master')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown): Promise<Answer> =>
    server.admin.send(method, `${master}${path}`, body)
  const must = async (method: string, path: string, body?: unknown): Promise<Answer['body']> => {
    const answer = await send(method, path, body)
    expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    return answer.body
  }
  const apply = async (operations: readonly Operation[], dryRun = false): Promise<Answer> =>
    changesets.apply(operations, { dryRun })
  const lockOut = {
    status: 409,
    body: {
      code: 'conflict',
      detail: expect.stringContaining('master would have no administrator who can sign in'),
    },
  }
  const expectRefused = async (attempts: Record<string, () => Promise<Answer>>): Promise<void> => {
    for (const [name, attempt] of Object.entries(attempts)) {
      const before = await changesets.revision()
      expect({ name, ...(await attempt()) }).toMatchObject({ name, ...lockOut })
      expect(await changesets.revision()).toBe(before)
    }
    await must('GET', '/users')
  }
  const weak = { name: 'admin', permissions: ['view-users'] }

  it('stays by every door that changes roles and users', async () => {
    const id = server.admin.userId
    const asUser = { username: 'admin' }
    const importOf = (query: string) =>
      send('POST', `/users/import${query}`, {
        ifResourceExists: 'OVERWRITE',
        users: [{ username: 'admin', enabled: false }],
      })
    await expectRefused({
      'admin role': () => send('PUT', '/admin-roles/admin', { permissions: ['view-users'] }),
      'role by changeset': () => apply([put('role', 'admin', weak)]),
      'role by dry run': () => apply([put('role', 'admin', weak)], true),
      'role by import': () => send('POST', '/import', { formatVersion: 1, roles: [weak] }),
      'a file that names the user': () => apply([user('admin')]),
      'a file that switches the user off': () =>
        apply([user('admin', { roles: ['admin'], enabled: false })]),
      'role taken away': () => send('DELETE', `/users/${id}/roles/admin`),
      'user switched off': () => send('PUT', `/users/${id}`, { ...asUser, enabled: false }),
      'user locked': () => send('PUT', `/users/${id}`, { ...asUser, locked: true }),
      'users imported': () => importOf(''),
      'users imported, as a dry run': () => importOf('?dryRun=true'),
    })
    // Of another realm they may all go: the administrators of master can make new ones.
    const acme = await server.createRealm('acme')
    const other = await server.admin.send('PUT', `${acme}/admin-roles/admin`, { permissions: [] })
    expect(other.status).toBe(200)
  })

  it('stays by every door that changes what grants it from afar', async () => {
    const id = server.admin.userId
    await must('POST', '/roles', { name: 'chief', composites: ['admin'] })
    const ops = await must('POST', '/groups', { name: 'Ops' })
    const before = await changesets.revision()
    await must('PUT', `/groups/${ops.groupId}/roles/chief`)
    const night = await must('POST', '/groups', { name: 'Night', parentId: ops.groupId })
    await must('PUT', `/groups/${night.groupId}/members/${id}`)
    // By the group there is another way, and the direct one may go.
    await must('DELETE', `/users/${id}/roles/admin`)
    await expectRefused({
      'group left': () => send('DELETE', `/groups/${night.groupId}/members/${id}`),
      'group deleted': () => send('DELETE', `/groups/${night.groupId}`),
      'group deleted by changeset': () => apply([remove('group', '/Ops/Night')]),
      'group moved away': () =>
        send('PUT', `/groups/${night.groupId}`, { name: 'Night', parentId: null }),
      'role of the group': () => send('DELETE', `/groups/${ops.groupId}/roles/chief`),
      'composite role': () => apply([role('chief')]),
      'composite role deleted': () =>
        apply([put('group', '/Ops', { name: 'Ops' }), remove('role', 'chief')]),
      rollback: () => send('POST', `/revisions/${before}/rollback`, {}),
      'rollback, as a dry run': () =>
        send('POST', `/revisions/${before}/rollback`, { dryRun: true }),
    })
    await must('POST', `/users/${id}/roles`, { name: 'admin' })
    await must('DELETE', `/groups/${ops.groupId}/roles/chief`)
  })

  it('goes in one write with the next one', async () => {
    const next = user('next', { roles: ['admin'] })
    const off = { ...next, doc: { ...next.doc, enabled: false } }
    const demoted = user('admin')
    await expectRefused({ 'for one who cannot sign in': () => apply([demoted, off]) })
    expect(await apply([demoted, next])).toMatchObject({ status: 200 })
    const heir = await server.signedIn('master', 'next')
    const refused = await heir.send('PUT', `${master}/users/${heir.userId}`, {
      username: 'next',
      locked: true,
    })
    expect(refused).toMatchObject(lockOut)
    const back = await heir.send('POST', `${master}/users/admin/roles`, { name: 'admin' })
    expect(back.status).toBe(204)
    expect((await send('DELETE', `/users/${heir.userId}`)).status).toBe(204)
  })

  it('is one of two that lose it at the same moment', async () => {
    const rivals = [
      await server.userWith('master', ['realm-admin']),
      await server.userWith('master', ['realm-admin']),
    ]
    const [one, two] = rivals
    if (!one || !two) throw new Error('two are needed')
    expect((await one.send('DELETE', `${master}/users/${server.admin.userId}`)).status).toBe(204)
    const answers = await Promise.all([
      one.send('PUT', `${master}/users/${two.userId}`, { username: 'two', enabled: false }),
      two.send('PUT', `${master}/users/${one.userId}`, { username: 'one', enabled: false }),
    ])
    expect(answers.map(({ status }) => status).sort()).not.toEqual([200, 200])
    const alive = await Promise.all(rivals.map((rival) => rival.send('GET', `${master}/users`)))
    expect(alive.map(({ status }) => status)).toContain(200)
  })
})
