/** Personal data in the audit trail is readable until the user is erased, and not afterwards. */

import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { User } from '#schemas/kinds/users/user.ts'
import type { AuditRecord } from '#schemas/wire/events.ts'
import { createRecorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { createPersonalKeys } from '#server/audit/personal-keys.ts'
import { systemClock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const address = '198.51.100.77'

describe.each(backends)('personal data in the audit trail on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const newUser = async (): Promise<string> =>
    (await server.userWith('acme', ['view-events'])).userId
  const record = (event: Partial<AuditEvent> & Pick<AuditEvent, 'actor'>) =>
    server.areas.audit.recorder.append(
      [],
      [{ type: 'LOGOUT', realm: 'acme', sourceIp: address, outcome: 'SUCCESS', ...event }],
    )
  const stored = async (actor: string) =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('actor', '=', actor)
      .orderBy('id')
      .execute()
  const shown = async (actor: string): Promise<AuditRecord[]> =>
    (await server.admin.send('GET', `/admin/realms/acme/events?actor=${actor}&size=500`)).body.items
  const erase = (userId: string) =>
    server.areas.storage.commit(server.areas.audit.personalKeys.destroyPersonalKey('acme', userId))

  it('is not in the row, but in what is shown, found by the id of the user', async () => {
    const user = await newUser()
    await record({ actor: user })
    const [row] = await stored(user)
    expect(row?.source_ip).toBe('')
    expect(JSON.stringify(row)).not.toContain(address)
    expect(await shown(user)).toMatchObject([{ actor: user, sourceIp: address, detail: null }])
  })

  it('is sealed for each event alone: moved to another row it is not shown', async () => {
    const user = await newUser()
    await record({ actor: user })
    await record({ actor: user, sourceIp: '198.51.100.78' })
    const [first, second] = await stored(user)
    await server.areas.storage.commit([
      statement(
        server.areas.storage.db
          .updateTable('audit_events')
          .set({ sealed: first?.sealed ?? null })
          .where('id', '=', second?.id ?? 0),
      ),
    ])
    expect((await shown(user)).map(({ sourceIp }) => sourceIp)).toEqual(['altered', address])
  })

  it('cannot be read once the key is destroyed, while the event stays as it is stored', async () => {
    const user = await newUser()
    const other = await newUser()
    await record({ actor: user, type: 'LOGIN_SUCCESS', detail: 'password grant' })
    await record({ actor: other })
    const before = await stored(user)
    await erase(user)
    expect(await stored(user)).toEqual(before)
    expect(await shown(user)).toMatchObject([
      { type: 'LOGIN_SUCCESS', actor: user, sourceIp: 'erased', detail: 'password grant' },
    ])
    expect(await shown(other)).toMatchObject([{ sourceIp: address }])
  })

  it('of whoever was erased is not readable either where it comes late, also from another node', async () => {
    const user = await newUser()
    await record({ actor: user })
    await erase(user)
    await record({ actor: user })
    const {
      storage,
      secrets: { keyring },
    } = server.areas
    const personalKeys = createPersonalKeys({ storage, keyring })
    const elsewhere = createRecorder({ storage, clock: systemClock, personalKeys, sinks: [] })
    await elsewhere.append(
      [],
      [{ type: 'LOGOUT', realm: 'acme', actor: user, sourceIp: address, outcome: 'SUCCESS' }],
    )
    expect((await shown(user)).map(({ sourceIp }) => sourceIp)).toEqual(Array(3).fill('erased'))
    expect(JSON.stringify(await stored(user))).not.toContain(address)
  })

  it('has one key, however many nodes need it first at the same moment', async () => {
    const user = await newUser()
    const {
      storage,
      secrets: { keyring },
    } = server.areas
    await Promise.all(
      Array.from({ length: 5 }, () =>
        createRecorder({
          storage,
          clock: systemClock,
          personalKeys: createPersonalKeys({ storage, keyring }),
          sinks: [],
        }).append(
          [],
          [{ type: 'LOGOUT', realm: 'acme', actor: user, sourceIp: address, outcome: 'SUCCESS' }],
        ),
      ),
    )
    expect((await shown(user)).map(({ sourceIp }) => sourceIp)).toEqual(Array(5).fill(address))
  })

  it('is sealed for a user whom the same transaction makes', async () => {
    const actor = newId()
    await record({ actor, type: 'REGISTER' })
    expect(JSON.stringify(await stored(actor))).not.toContain(address)
    expect(await shown(actor)).toMatchObject([{ sourceIp: address }])
  })

  it('is none where a client acts, or a stranger: their address stays', async () => {
    const made = await server.admin.send('POST', '/admin/realms/acme/clients', { clientId: 'app' })
    const keys = async () => {
      const { rows } = await sql<{ n: number }>`select count(*) as n from personal_keys`.execute(
        server.areas.storage.db,
      )
      return Number(rows[0]?.n)
    }
    const before = await keys()
    const tried = newId()
    await record({ actor: made.body.id, type: 'CLIENT_LOGIN' })
    await record({ actor: tried, type: 'LOGIN_FAILURE', outcome: 'FAILURE' })
    await record({ actor: 'a stranger', type: 'LOGIN_FAILURE', outcome: 'FAILURE' })
    for (const actor of [made.body.id, tried, 'a stranger'])
      expect(await stored(actor)).toMatchObject([{ source_ip: address, sealed: null }])
    expect(await keys()).toBe(before)
  })

  it('about another user is under the key of that user', async () => {
    const [admin, subject] = [await newUser(), await newUser()]
    await record({
      actor: admin,
      type: 'UPDATE_EMAIL',
      resourceType: 'users',
      resourceId: subject,
      detail: 'by an administrator',
      personal: 'somebody@example.org',
    })
    expect(JSON.stringify(await stored(admin))).not.toContain('somebody@')
    const told = 'by an administrator: somebody@example.org'
    expect(await shown(admin)).toMatchObject([{ sourceIp: address, detail: told }])
    await erase(subject)
    expect(await shown(admin)).toMatchObject([
      { sourceIp: address, detail: 'by an administrator: erased' },
    ])
  })

  it('is the former name of a user who is renamed', async () => {
    const write = (key: string, from?: string) =>
      server.areas.realm.writer.write({
        realm: 'acme',
        channel: { via: 'changeset', origin: 'declared', owner: 'estate' },
        caller: { actor: 'pipeline', sourceIp: address, permissions: new Set(permissionKeys) },
        operations: [
          {
            op: 'put',
            ...(from === undefined ? {} : { from }),
            kind: User,
            key,
            doc: { username: key },
            secrets: {},
          },
        ],
      })
    await write('maiden-name')
    await write('married-name', 'maiden-name')
    const rows = JSON.stringify(await stored('pipeline'))
    expect(rows).toContain('renamed')
    expect(rows).not.toContain('maiden-name')
    expect((await shown('pipeline'))[0]?.detail).toMatch(/^renamed.*: once maiden-name$/)
  })
})
