/**
 * Provisioning by SCIM: the first load of a sender beside a server that keeps users in memory, a user found among 100,000, one
 * member into a group of 10,000, and what a storm of writes leaves to the token endpoint.
 */

import { Provisioning } from '#schemas/kinds/provisioning/provisioning.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { newId } from '#server/platform/ids.ts'
import { sha256 } from '#server/platform/random.ts'
import { insertProvisioningToken } from '#server/provisioning/provisioning-tokens.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { insertRows } from '#server/storage/statements.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { type Connection, type Request, sendLoad } from '../../load.ts'
import type { Bench, Measurement, Row } from '../../measurement.ts'
import * as party from '../../relying-party.ts'
import { median, medianRatio, quantile } from '../../statistics.ts'

const CREATED = 10_000
/** In so many parts, which take turns with those of the other server. */
const PARTS = 5
const AT_ONCE = 16
const USERS = 100_000
const MEMBERS = 10_000
const BATCH = 5_000
const LONG = 600_000
const STORMS = 5
const STORM_MS = 3_000
const token = 'a-token-of-the-bench-that-is-long-enough'
const groupId = '00000000-0000-4000-8000-00000000000a'
const base = '/realms/acme/scim/v2'

const headers = {
  authorization: `Bearer ${token}`,
  'content-type': 'application/scim+json',
}

const userNamed = (userName: string, path = base): Request => ({
  method: 'POST',
  path: `${path}/Users`,
  headers,
  body: JSON.stringify({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName,
    externalId: userName,
    name: { givenName: 'A', familyName: 'User' },
    emails: [{ value: `${userName}@mail.example`, type: 'work', primary: true }],
    active: true,
  }),
})

const open = async (areas: Areas): Promise<void> => {
  await party.fillIssuer(areas)
  const { storage, realm } = areas
  await realm.writer.write({
    realm: 'acme',
    caller: system,
    channel: restChannel,
    operations: [
      {
        op: 'put',
        kind: Provisioning,
        key: Provisioning.kind,
        doc: { scimEnabled: true },
        secrets: {},
      },
      {
        op: 'put',
        kind: Group,
        key: '/everybody',
        doc: { name: 'everybody' },
        secrets: {},
        idWhenMade: groupId,
      },
    ],
  })
  await storage.commit(
    insertProvisioningToken(storage, {
      id: newId(),
      realm: 'acme',
      purpose: 'scim',
      hash: sha256(token),
      label: null,
      created_at: 0,
      expires_at: null,
      uses: null,
      remaining: null,
    }),
  )
}

const fill = async (areas: Areas): Promise<void> => {
  await open(areas)
  const { storage, users } = areas
  for (let start = 0; start < USERS; start += BATCH) {
    const rows = Array.from({ length: BATCH }, (_, n) =>
      newUserRow(
        { username: `user-${start + n}`, email: `user-${start + n}@mail.example` },
        { id: newId(), realm: 'acme', now: 1 },
      ),
    )
    await storage.commit([
      ...users.store.saveStatements(rows.map((after) => ({ before: undefined, after }))),
      ...(start < MEMBERS
        ? insertRows(
            storage.db,
            'user_groups',
            rows.map(({ id }) => ({ user_id: id, group_id: groupId })),
          )
        : []),
    ])
  }
  // What autovacuum does within a minute; a query right after the first import would be planned blindly.
  if (storage.dialect.name === 'postgres')
    await storage.commit([{ sql: 'analyze users, user_names, user_groups', parameters: [] }])
}

/** Where users are created, and how fast each part of them was. */
interface Loaded {
  readonly server: Server
  readonly path: string
  readonly rates: number[]
}

const loadedBy = (server: Server, path: string): Loaded => ({ server, path, rates: [] })

const createInTurns = async (all: readonly Loaded[]): Promise<void> => {
  const most = CREATED / PARTS
  for (let part = 0; part < PARTS; part += 1)
    for (const { server, path, rates } of all) {
      const { perSecond } = await sendLoad(
        server.url,
        AT_ONCE,
        { ms: LONG, most },
        (connection, n) => connection.send(userNamed(`new-${part * most + n}`, path), 201),
      )
      rates.push(perSecond)
    }
}

const timesOf = async (
  { url }: Server,
  send: (connection: Connection, n: number) => Promise<unknown>,
): Promise<Row> => {
  const { times } = await sendLoad(url, 1, { ms: LONG, most: 500 }, send)
  return { 'p50 ms': quantile(times, 0.5), 'p99 ms': quantile(times, 0.99) }
}

const findOne = (server: Server): Promise<Row> =>
  timesOf(server, (connection, n) => {
    const filter = encodeURIComponent(`userName eq "USER-${(n * 7919) % USERS}"`)
    return connection.send({ method: 'GET', path: `${base}/Users?filter=${filter}`, headers }, 200)
  })

const joinOne = async (server: Server): Promise<Row> => {
  const ids: string[] = []
  await sendLoad(server.url, 1, { ms: LONG, most: 500 }, async (connection, n) => {
    const { body } = await connection.send(userNamed(`member-${n}`), 201)
    ids.push(JSON.parse(body.toString()).id)
  })
  return timesOf(server, (connection, n) =>
    connection.send(
      {
        method: 'PATCH',
        path: `${base}/Groups/${groupId}`,
        headers,
        body: JSON.stringify({
          schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
          Operations: [{ op: 'add', path: 'members', value: [{ value: ids[n] }] }],
        }),
      },
      204,
    ),
  )
}

/** Tokens for a service while senders write as fast as they can, and while nobody does, in turns. */
const stormOn = async ({ url }: Server): Promise<Row> => {
  const tokens = async (): Promise<number> => {
    const { times } = await sendLoad(url, 2, { ms: STORM_MS }, (connection) =>
      connection.send(party.clientCredentials(), 200),
    )
    return quantile(times, 0.99)
  }
  const [quiet, stormy]: [number[], number[]] = [[], []]
  let made = 0
  for (let round = 0; round < STORMS; round += 1) {
    quiet.push(await tokens())
    const [, beside] = await Promise.all([
      sendLoad(url, AT_ONCE, { ms: STORM_MS + 500 }, (connection) =>
        connection.send(userNamed(`storm-${made++}`), 201),
      ),
      tokens(),
    ])
    stormy.push(beside)
  }
  return {
    'p99 ms': median(stormy),
    'p99 ms, quiet': median(quiet),
    '× quiet': medianRatio(stormy, quiet),
  }
}

const withFull = async (backend: Backend): Promise<Row[]> => {
  const on = backend.name
  const full = await backend.create()
  try {
    await full.withParts(fill)
    const server = await full.serve()
    return [
      { what: `find one of ${USERS.toLocaleString('en')}`, on, ...(await findOne(server)) },
      {
        what: `one more of ${MEMBERS.toLocaleString('en')} members`,
        on,
        ...(await joinOne(server)),
      },
    ]
  } finally {
    await full.remove()
  }
}

const withEmpty = async (
  { backends, serveScript }: Bench,
  ends: (() => Promise<void>)[],
): Promise<Row[]> => {
  const peer = await serveScript('peer-scimmy')
  ends.push(peer.stop)
  const scimmy = loadedBy(peer, '/scim/v2')
  const ours: (Loaded & { readonly on: string })[] = []
  for (const { name: on, create } of backends) {
    const database = await create()
    ends.push(database.remove)
    await database.withParts(open)
    ours.push({ on, ...loadedBy(await database.serve(), base) })
  }
  await createInTurns([scimmy, ...ours])
  const rows: Row[] = ours.map(({ on, rates }) => ({
    what: 'create',
    on,
    'per s': median(rates),
    'scimmy, per s': median(scimmy.rates),
    '× scimmy': medianRatio(rates, scimmy.rates),
  }))
  for (const { on, server } of ours)
    rows.push({ what: 'tokens in a storm of creates', on, ...(await stormOn(server)) })
  return rows
}

export const measureScimIn: Measurement = async (bench) => {
  const ends: (() => Promise<void>)[] = []
  const rows: Row[] = []
  try {
    rows.push(...(await withEmpty(bench, ends)))
  } finally {
    for (const end of ends.toReversed()) await end()
  }
  for (const backend of bench.backends) rows.push(...(await withFull(backend)))
  return {
    title: 'SCIM: what a sender writes and finds',
    notes: [
      `${CREATED.toLocaleString('en')} users by single requests over ${AT_ONCE} connections, in ${PARTS} parts that take turns with scimmy, which keeps them in memory and checks no name`,
      `${STORMS} storms of ${STORM_MS} ms, each after as long without one`,
      'goals: × scimmy 1 or more; find one 20 ms at p99; one member 50 ms; × quiet 2 or less',
    ],
    rows,
  }
}
