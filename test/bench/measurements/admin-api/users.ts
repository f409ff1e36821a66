/** Prefix search over 100,000 users. */

import { newId } from '#server/platform/ids.ts'
import type { Areas } from '#server/run/open.ts'
import { insertRows } from '#server/storage/statements.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { adminUrl } from '../../admin.ts'
import { type Backend, type Server, system } from '../../backends.ts'
import { sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { signInAsAdmin } from '../../sign-in.ts'
import { quantile, timed } from '../../statistics.ts'

const USERS = 100_000
const BATCH = 5_000
const SEARCH = { ms: 1_500, most: 200 }

/** Two letters each: a prefix of 2, 4 or 9 letters finds a tenth, a hundredth or a ten-thousandth of the users. */
const syllables = ['ba', 'ce', 'di', 'fo', 'gu', 'ha', 'je', 'ki', 'lo', 'mu']

const syllable = (n: number): string => syllables[Math.floor(n) % 10] ?? ''
const nameOf = (n: number): string =>
  `${syllable(n)}${syllable(n / 10)}.${syllable(n / 100)}${syllable(n / 1000)}.${n}`

const fill = async (areas: Areas): Promise<number> => {
  const {
    storage,
    realm: { realms },
  } = areas
  await realms.create({ realm: 'acme' }, system)
  const { id: role_id } = await storage.db
    .selectFrom('documents')
    .select('id')
    .where('realm', '=', 'acme')
    .where('kind', '=', 'role')
    .where('key', '=', 'user')
    .executeTakeFirstOrThrow()
  const batch = (start: number) =>
    Array.from({ length: BATCH }, (_, i) => {
      const username = nameOf(start + i)
      const email = `${username}@mail.example`
      return newUserRow(
        { username, email, firstName: 'A', lastName: 'User', attributes: { n: [String(i)] } },
        { id: newId(), realm: 'acme', now: areas.given.clock.now() },
      )
    })
  const { ms } = await timed(async () => {
    for (let start = 0; start < USERS; start += BATCH) {
      const rows = batch(start)
      const names = rows.flatMap(({ id, realm, username_key, email_key }) =>
        [username_key, email_key ?? ''].map((name) => ({ realm, name, user_id: id })),
      )
      const roles = rows.map(({ id }) => ({ user_id: id, role_id }))
      await storage.commit([
        ...insertRows(storage.db, 'users', rows),
        ...insertRows(storage.db, 'user_names', names),
        ...insertRows(storage.db, 'user_roles', roles),
      ])
    }
  })
  // What autovacuum does within a minute; a query right after the first import would be planned blindly.
  if (storage.dialect.name === 'postgres')
    await storage.commit([{ sql: 'analyze users, user_names, user_roles', parameters: [] }])
  return ms
}

const searches = [
  { what: 'the whole name', search: nameOf(12_345), pages: [0] },
  { what: '9 letters', search: nameOf(12_345).slice(0, 9), pages: [0] },
  { what: '4 letters', search: nameOf(12_345).slice(0, 4), pages: [0, 900] },
  { what: '2 letters', search: nameOf(12_345).slice(0, 2), pages: [0, 9_900] },
  { what: 'no search', search: '', pages: [0, 99_900] },
]

const searchOn = async ({ url }: Server, on: string): Promise<Row[]> => {
  const headers = await signInAsAdmin(url)
  const rows: Row[] = []
  for (const { what, search, pages } of searches)
    for (const first of pages) {
      const query = new URLSearchParams({ search, first: String(first), max: '100' })
      const path = `${adminUrl('acme', 'users')}?${query}`
      let total = 0
      const { times } = await sendLoad(url, 1, SEARCH, async (connection) => {
        const answer = await connection.send({ method: 'GET', path, headers }, 200)
        total = Number(answer.headers['x-total-count'])
      })
      rows.push({
        what: `${what}, ${first === 0 ? 'first page' : `from ${first.toLocaleString('en')}`}`,
        on,
        'X-Total-Count': total,
        'p50 ms': quantile(times, 0.5),
        'p99 ms': quantile(times, 0.99),
        requests: times.length,
      })
    }
  return rows
}

const measureOn = async (backend: Backend): Promise<Row[]> => {
  const database = await backend.create()
  try {
    const ms = await database.withParts(fill)
    const found = await searchOn(await database.serve(), backend.name)
    const inserted = {
      what: `${USERS.toLocaleString('en')} users inserted in ${(ms / 1000).toFixed(1)} s`,
      on: backend.name,
    }
    return [...found, inserted]
  } finally {
    await database.remove()
  }
}

export const measureUsers: Measurement = async ({ backends }) => {
  const rows: Row[] = []
  for (const backend of backends) rows.push(...(await measureOn(backend)))
  return {
    title: 'GET /users?search=… over 100,000 users, pages of 100',
    notes: [
      'one connection; username and email address begin with the same letters, so both indexes are asked',
      `users, their names and their default role were inserted in commits of ${BATCH.toLocaleString('en')}; PostgreSQL was analyzed`,
    ],
    rows,
  }
}
