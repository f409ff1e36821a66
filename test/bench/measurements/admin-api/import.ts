/** Bulk import of 10,000 users with Argon2id hashes in one request. */

import { loadEngine } from '#server/platform/passwords/engine.ts'
import { adminUrl } from '../../admin.ts'
import { type Backend, system } from '../../backends.ts'
import { sendLoad } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { rssOf } from '../../processes.ts'
import { signInAsAdmin } from '../../sign-in.ts'
import { quantile } from '../../statistics.ts'

const USERS = 10_000

const measureOn = async (backend: Backend, value: string): Promise<Row> => {
  const database = await backend.create()
  try {
    await database.withParts(({ realm }) => realm.realms.create({ realm: 'acme' }, system))
    const server = await database.serve()
    const headers = await signInAsAdmin(server.url)
    const users = Array.from({ length: USERS }, (_, i) => ({
      username: `imported-${i}`,
      email: `imported-${i}@mail.example`,
      credentials: [{ type: 'password', value }],
    }))
    const body = JSON.stringify({ users })
    const path = adminUrl('acme', 'users/import')
    const { times } = await sendLoad(server.url, 1, { ms: 60_000, most: 1 }, (connection) =>
      connection.send({ method: 'POST', path, headers, body }, 200),
    )
    const ms = quantile(times, 0.5)
    return {
      what: `${USERS.toLocaleString('en')} users in one request`,
      on: backend.name,
      'body MB': Math.round(body.length / 104_857.6) / 10,
      s: Math.round(ms / 10) / 100,
      'users/s': Math.round((USERS / ms) * 1000),
      'server RSS MB': Math.round(rssOf(server.pid)),
    }
  } finally {
    await database.remove()
  }
}

export const measureImport: Measurement = async ({ backends }) => {
  const value = await (await loadEngine()).hash('a password of the bench')
  const rows: Row[] = []
  for (const backend of backends) rows.push(await measureOn(backend, value))
  return {
    title: 'POST /users/import',
    notes: ['all or none in one transaction, with an audit event each'],
    rows,
  }
}
