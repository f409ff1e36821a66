/**
 * A document that was renamed outside the files stays the same document: the plan restores its key and destroys nothing.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { documentIn } from '../../../../realm/changesets/changeset.ts'
import { anyBackend } from '../../../../support/backends.ts'
import { type ServedHome, startServedHome } from '../../fixture/served-home.ts'

interface Case {
  readonly kind: string
  readonly files: string
  /** The document, and the path and body that rename it by hand. */
  readonly key: string
  readonly renamed: string
  readonly path: (id: string) => string
  readonly body: object
}

const cases: readonly Case[] = [
  {
    kind: 'group',
    files: 'groups: [{ name: staff, groups: [{ name: night }] }]',
    key: '/staff',
    renamed: '/crew',
    path: (id) => `/groups/${id}`,
    body: { name: 'crew' },
  },
  {
    kind: 'group',
    files: 'groups: [{ name: staff, groups: [{ name: night }, { name: day }] }]',
    key: '/staff/night',
    // Without a parent in the body it moves to the top as well.
    renamed: '/late',
    path: (id) => `/groups/${id}`,
    body: { name: 'late' },
  },
  {
    kind: 'role',
    files: 'roles: [{ name: staff }, { name: all, composites: [staff] }]',
    key: 'staff',
    renamed: 'crew',
    path: (id) => `/roles/${id}`,
    body: { name: 'crew' },
  },
  {
    kind: 'client',
    files: 'clients: [{ clientId: web, publicClient: true, roles: [{ name: reader }] }]',
    key: 'web',
    renamed: 'app',
    path: (id) => `/clients/${id}`,
    body: { clientId: 'app', publicClient: true },
  },
]

describe.each(anyBackend)('a document renamed by hand on $name', (backend) => {
  let server: ServedHome['server']
  let home: ServedHome['home']
  let close: ServedHome['close']
  let made = 0
  beforeAll(async () => {
    ;({ server, home, close } = await startServedHome(backend))
  })
  afterAll(() => close())

  const setUp = async (files: string) => {
    made += 1
    const realm = `by-hand-${made}`
    const file = join(home.folder, `${realm}.yaml`)
    const write = (text: string): void => writeFileSync(file, `realm: ${realm}\n${text}\n`)
    write(files)
    const run = (command: string, ...more: string[]) => home.run([command, file, ...more])
    const applied = await run('apply', '--auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    const planned = async () => {
      const { code, stdout, stderr } = await run('plan', '-o', 'json')
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout).realms[0]
    }
    const idOf = async (kind: string, key: string): Promise<string> =>
      (await documentIn(server, realm, kind, key))?.id ?? 'none'
    return { realm, base: `/admin/realms/${realm}`, write, run, planned, idOf }
  }

  it.each(cases)(
    '$kind $key gets its name back',
    async ({ kind, files, key, renamed, ...hand }) => {
      const { base, run, planned, idOf } = await setUp(files)
      const id = await idOf(kind, key)
      const put = await server.admin.send('PUT', `${base}${hand.path(id)}`, hand.body)
      expect(put.status, JSON.stringify(put.body)).toBe(200)
      expect(await idOf(kind, renamed)).toBe(id)
      const plan = await planned()
      expect(plan.changes).toMatchObject([{ action: 'rename', kind, key, from: renamed }])
      expect(plan.warnings).toMatchObject([{ code: 'renamed-by-hand' }])
      const applied = await run('apply', '--auto-approve')
      expect(applied.code, applied.stderr).toBe(0)
      expect(await idOf(kind, key)).toBe(id)
      const after = await planned()
      expect([after.changes, after.warnings]).toEqual([[], []])
    },
  )

  it('keeps the new name where the files take it', async () => {
    const { base, write, run, planned, idOf } = await setUp('groups: [{ name: staff }]')
    const id = await idOf('group', '/staff')
    await server.admin.send('PUT', `${base}/groups/${id}`, { name: 'crew' })
    write('groups: [{ name: crew }]')
    expect((await planned()).changes).toEqual([])
    // An apply that writes it makes the new name its own.
    write('groups: [{ name: crew, description: People }]')
    expect((await run('apply', '--auto-approve')).code).toBe(0)
    write('groups: [{ name: crew, description: People }, { name: staff }]')
    const { changes } = await planned()
    expect(changes).toMatchObject([{ action: 'create', key: '/staff' }])
    expect(changes).toHaveLength(1)
  })

  it('is renamed several times, and another takes its name', async () => {
    const { base, planned, idOf } = await setUp('groups: [{ name: staff }]')
    const id = await idOf('group', '/staff')
    for (const name of ['crew', 'team'])
      expect((await server.admin.send('PUT', `${base}/groups/${id}`, { name })).status).toBe(200)
    expect((await planned()).changes).toMatchObject([{ action: 'rename', from: '/team' }])
    expect((await server.admin.send('POST', `${base}/groups`, { name: 'staff' })).status).toBe(201)
    const { changes } = await planned()
    expect(
      changes.map(({ action, key }: { action: string; key: string }) => [action, key]),
    ).toEqual([
      ['adopt', '/staff'],
      ['delete', '/team'],
    ])
  })

  it('is asked about where only the files have a new name', async () => {
    const { write, planned, run } = await setUp('groups: [{ name: staff, description: People }]')
    write('groups: [{ name: crew, description: People }]')
    const { warnings } = await planned()
    expect(warnings).toMatchObject([
      { code: 'looks-renamed', message: expect.stringContaining('renamedFrom: /staff') },
    ])
    const { stdout } = await run('plan')
    expect(stdout).toContain('renamedFrom: /staff')
    write('groups: [{ name: crew, description: People, renamedFrom: /staff }]')
    const plan = await planned()
    expect(plan.changes).toMatchObject([{ action: 'rename', from: '/staff' }])
    expect(plan.warnings).toEqual([])
  })
})
