/** A changeset holds for its base revision: concurrent changes are reported, and a repeated changeset is applied once. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '#server/platform/clock.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { client, documentIn, remove, role, type Sender, senderTo } from './changeset.ts'

const day = 24 * 60 * 60 * 1000

describe.each(backends)('a changeset and its revision on $name', (backend) => {
  let server: TestServer
  let to: Sender
  let later = 0
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    server = await startServer(backend, { clock: { now: () => systemClock.now() + later } })
    await server.createRealm('acme')
    to = senderTo(server, 'acme')
  })
  afterAll(() => server.close())

  const post = (path: string, body: unknown) => server.admin.send('POST', `${base}${path}`, body)
  const document = (kind: string, key: string) => documentIn(server, 'acme', kind, key)
  const keyed = (key: string) => ({ 'idempotency-key': key })

  it('is refused when the realm moved, and told what moved, who moved it, when and how', async () => {
    const baseRevision = await to.revision()
    await post('/roles', { name: 'by-hand' })
    await to.apply([role('applied'), client('applied')], { message: 'another apply' })
    await to.apply([remove('role', 'applied')])
    for (const dryRun of [false, true]) {
      const answer = await to.apply([role('mine')], { baseRevision, dryRun })
      expect(answer).toMatchObject({
        status: 409,
        body: { code: 'stale', revision: baseRevision + 3 },
      })
      const who = { actor: server.admin.userId, actorName: 'admin', at: expect.any(Number) }
      expect(answer.body.moved).toEqual([
        {
          ...who,
          revision: baseRevision + 3,
          source: 'changeset',
          message: null,
          changes: [{ kind: 'role', key: 'applied', op: 'delete' }],
        },
        {
          ...who,
          revision: baseRevision + 2,
          source: 'changeset',
          message: 'another apply',
          changes: [
            { kind: 'role', key: 'applied', op: 'create' },
            { kind: 'client', key: 'applied', op: 'create' },
          ],
        },
        {
          ...who,
          revision: baseRevision + 1,
          source: 'rest',
          message: null,
          changes: [{ kind: 'role', key: 'by-hand', op: 'create' }],
        },
      ])
    }
    expect(await document('role', 'mine')).toBeUndefined()
  })

  it('tells nobody of documents that they may not read', async () => {
    const baseRevision = await to.revision()
    await to.apply([role('hidden'), client('seen')])
    const viewer = senderTo(server, 'acme', await server.userWith('acme', ['manage-clients']))
    const answer = await viewer.apply([client('mine')], { baseRevision })
    expect(answer.body.code).toBe('stale')
    expect(answer.body.moved.flatMap((one: { changes: unknown[] }) => one.changes)).toEqual([
      { kind: 'client', key: 'seen', op: 'create' },
    ])
  })

  it('is refused for a revision that the realm has not reached', async () => {
    const ahead = (await to.revision()) + 1
    for (const allowUnrelated of [false, true]) {
      const answer = await to.apply([role('ahead')], { baseRevision: ahead, allowUnrelated })
      expect(answer.body).toMatchObject({ code: 'stale', moved: [] })
    }
  })

  it('goes on where others moved, if it may and none of its own documents did', async () => {
    await to.apply([role('own'), role('before'), role('to-rename')])
    const baseRevision = await to.revision()
    await post('/roles', { name: 'unrelated' })
    const lenient = { baseRevision, allowUnrelated: true }
    expect((await to.apply([role('own', { description: 'x' })], { baseRevision })).status).toBe(409)
    const answer = await to.apply([role('own', { description: 'x' })], lenient)
    expect(answer, JSON.stringify(answer.body)).toMatchObject({
      status: 200,
      body: { revision: baseRevision + 2 },
    })
    // By now it has moved itself, as the target of others would.
    expect((await to.apply([role('own')], lenient)).body.code).toBe('stale')
    expect((await to.apply([remove('role', 'unrelated')], lenient)).body.code).toBe('stale')
    await to.apply([role('renamed', {}, { op: 'rename', from: 'to-rename' })])
    expect((await to.apply([role('to-rename')], lenient)).body.code).toBe('stale')
    const from = role('else', {}, { op: 'rename', from: 'renamed' })
    expect((await to.apply([from], lenient)).body.code).toBe('stale')
    expect((await to.apply([role('before', { description: 'x' })], lenient)).status).toBe(200)
  })

  it('wins once or reports what moved when twenty come at the same time; nothing is lost', async () => {
    const baseRevision = await to.revision()
    const names = Array.from({ length: 20 }, (_, i) => `at-once-${i}`)
    const strict = await Promise.all(
      names.map((name) => to.apply([role(name), role(`${name}-too`)], { baseRevision })),
    )
    const won = strict.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    expect(strict.filter(({ body }) => body.code === 'stale')).toHaveLength(19)
    expect(await to.revision()).toBe(baseRevision + 1)

    const lenient = await Promise.all(
      names.map((name) =>
        to.apply([role(`${name}-later`)], { baseRevision, allowUnrelated: true }),
      ),
    )
    expect(lenient.map(({ status }) => status)).toEqual(names.map(() => 200))
    expect(await to.revision()).toBe(baseRevision + 21)
    for (const name of names) expect(await document('role', `${name}-later`)).toBeDefined()

    const same = await Promise.all(
      names.map((name) =>
        to.apply([role('contested', { description: name })], {
          baseRevision,
          allowUnrelated: true,
        }),
      ),
    )
    const [winner, ...others] = same.filter(({ status }) => status === 200)
    expect(others).toEqual([])
    expect(winner?.body.revision).toBe(baseRevision + 22)
  })

  it('is applied once with one key, however often and at the same time it is sent', async () => {
    const body = { baseRevision: await to.revision(), source: 'estate', operations: [role('once')] }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => to.send(body, keyed('deploy-1'))),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const first = answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)
    expect(first).toHaveLength(1)
    for (const { body: reply } of answers) expect(reply).toEqual(first[0]?.body)
    expect(await to.revision()).toBe(body.baseRevision + 1)
    await to.apply([remove('role', 'once')])
    const again = await to.send(body, keyed('deploy-1'))
    expect(again).toMatchObject({ status: 200, headers: { 'idempotency-replayed': 'true' } })
    expect(await document('role', 'once')).toBeUndefined()
  })

  it('is refused under a key that came with another body, and not kept where nothing was applied', async () => {
    const body = {
      baseRevision: await to.revision(),
      source: 'estate',
      operations: [role('keyed')],
    }
    const dry = await to.send({ ...body, dryRun: true }, keyed('deploy-2'))
    expect(dry.status).toBe(200)
    const failed = { ...body, operations: [role('keyed', { composites: ['nobody'] })] }
    expect((await to.send(failed, keyed('deploy-2'))).status).toBe(400)
    expect((await to.send(body, keyed('deploy-2'))).status).toBe(200)
    const other = await to.send({ ...body, message: 'x' }, keyed('deploy-2'))
    expect(other).toMatchObject({ status: 409, body: { code: 'conflict' } })
    for (const key of ['', 'x'.repeat(256), 'tab\there'])
      expect((await to.send(body, keyed(key))).status, key).toBe(400)
  })

  it('is answered again only to the caller whose it is, and blocks the key of no other caller', async () => {
    const operations = [role('of-one-caller')]
    const body = { baseRevision: await to.revision(), source: 'estate', operations }
    expect((await to.send(body, keyed('shared'))).status).toBe(200)
    const another = senderTo(server, 'acme', await server.userWith('acme', ['manage-roles']))
    const repeated = await another.send(body, keyed('shared'))
    expect(repeated).toMatchObject({ status: 409, body: { code: 'stale' } })
    expect(repeated.headers).not.toHaveProperty('idempotency-replayed')
    const own = { ...body, baseRevision: await to.revision(), operations: [role('of-another')] }
    expect((await another.send(own, keyed('shared'))).status).toBe(200)
    for (const [sender, sent] of [
      [to, body],
      [another, own],
    ] as const)
      expect(await sender.send(sent, keyed('shared'))).toMatchObject({
        status: 200,
        headers: { 'idempotency-replayed': 'true' },
      })
  })

  it('keeps the answer for a day', async () => {
    const operations = [role('kept-for-a-day')]
    const body = { baseRevision: await to.revision(), source: 'estate', operations }
    const kept = () =>
      server.areas.storage.db
        .selectFrom('idempotency_keys')
        .select('key')
        .where('key', 'like', '%:deploy-3')
        .execute()
    await to.send(body, keyed('deploy-3'))
    later = day - 60_000
    await tidy(server.areas)
    expect(await kept()).toHaveLength(1)
    later = day + 60_000
    const admin = await server.signedIn('master', 'admin')
    const stale = await senderTo(server, 'acme', admin).send(body, keyed('deploy-3'))
    expect(stale.body.code).toBe('stale')
    await tidy(server.areas)
    expect(await kept()).toEqual([])
    later = 0
  })
})

describe('two nodes on one database', () => {
  it('apply one of two changesets for the same revision, and one of two with the same key', async () => {
    const postgres = backends.find(({ name }) => name === 'postgres')
    if (!postgres) return
    const one = await startServer(postgres)
    const two = await startServer(postgres, { url: one.url })
    await one.createRealm('acme')
    const senders = [
      senderTo(one, 'acme'),
      senderTo(two, 'acme', await two.signedIn('master', 'admin')),
    ]
    for (let round = 0; round < 10; round += 1) {
      const baseRevision = (await senders[0]?.revision()) ?? 0
      const raced = await Promise.all(
        senders.map((to, i) => to.apply([role(`node-${i}-${round}`)], { baseRevision })),
      )
      expect(raced.map(({ status }) => status).sort()).toEqual([200, 409])
      const operations = [role(`repeated-${round}`)]
      const body = { baseRevision: baseRevision + 1, source: 'estate', operations }
      const repeated = await Promise.all(
        senders.map((to) => to.send(body, { 'idempotency-key': `key-${round}` })),
      )
      expect(repeated.map(({ status }) => status)).toEqual([200, 200])
      expect(repeated[0]?.body).toEqual(repeated[1]?.body)
      expect(await senders[0]?.revision()).toBe(baseRevision + 2)
    }
    await two.close()
    await one.close()
  })
})
