/**
 * How fast a SCIM target hears of changes: the time from the answer of the admin API that disables a user to `active: false` at the
 * target, and the rate of an initial sync, as a ratio to a bare client that sends the same requests to the same target.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ScimTarget } from '#schemas/kinds/provisioning/scim-target.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import type { Areas } from '#server/run/open.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { openScimPeer, type ScimPeer } from '../../../scim-out/scim-peer.ts'
import { adminUrl } from '../../admin.ts'
import { type Backend, system } from '../../backends.ts'
import { connect } from '../../load.ts'
import type { Measurement, Row } from '../../measurement.ts'
import * as party from '../../relying-party.ts'
import { signInAsAdmin } from '../../sign-in.ts'
import { median } from '../../statistics.ts'

const USERS = 1000
const LEAVERS = 20
const AT_ONCE = 8
/** The goal for a leaver, in milliseconds. */
const GOAL_MS = 5000

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

const fill =
  (peer: ScimPeer) =>
  async (areas: Areas): Promise<void> => {
    await party.fillIssuer(areas)
    const { store } = areas.users
    const rows = Array.from({ length: USERS }, (_, n) =>
      newUserRow(
        { username: `user-${n}`, firstName: 'First', lastName: `Last ${n}` },
        { id: idOf(n), realm: 'acme', now: Date.now() },
      ),
    )
    await areas.storage.commit(
      store.saveStatements(rows.map((after) => ({ before: undefined, after }))),
    )
    await areas.realm.writer.write({
      realm: 'acme',
      caller: system,
      channel: restChannel,
      operations: [
        {
          op: 'put',
          kind: ScimTarget,
          key: 'chat',
          doc: { name: 'chat', baseUrl: peer.url, syncGroups: false },
          secrets: { '/token': peer.token },
        },
      ],
    })
  }

/** A look-up and a create for each, as provisioning sends them. */
const bareRate = async (peer: ScimPeer): Promise<number> => {
  const headers = {
    authorization: `Bearer ${peer.token}`,
    'content-type': 'application/scim+json',
  }
  let next = 0
  const began = performance.now()
  const worker = async (): Promise<void> => {
    for (let n = next; n < USERS; n = next) {
      next += 1
      const userName = `bare-${n}`
      const filter = encodeURIComponent(`userName eq "${userName}"`)
      await (await fetch(`${peer.url}/Users?filter=${filter}`, { headers })).text()
      const body = JSON.stringify({
        schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
        userName,
        active: true,
      })
      await (await fetch(`${peer.url}/Users`, { method: 'POST', headers, body })).text()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return (1000 * USERS) / (performance.now() - began)
}

const measureOn = async (backend: Backend, peer: ScimPeer, trust: string): Promise<Row[]> => {
  const bare = await bareRate(peer)
  peer.users.clear()
  const installation = await backend.create()
  try {
    await installation.withParts(fill(peer))
    const began = performance.now()
    const { url } = await installation.serve({
      NODE_EXTRA_CA_CERTS: trust,
      IAMCTL_OUTGOING_ALLOW: 'localhost',
    })
    while (peer.users.size < USERS) await sleep(5)
    const rate = (1000 * USERS) / (performance.now() - began)
    const headers = await signInAsAdmin(url)
    const connection = connect(url)
    const waits: number[] = []
    for (let n = 0; n < LEAVERS; n += 1) {
      const body = JSON.stringify({ username: `user-${n}`, enabled: false })
      const path = adminUrl('acme', `users/user-${n}`)
      await connection.send({ method: 'PUT', path, headers, body }, 200)
      const at = performance.now()
      while (peer.user(`user-${n}`)?.['active'] !== false) await sleep(2)
      waits.push(performance.now() - at)
    }
    await connection.close()
    return [
      {
        what: 'initial sync',
        on: backend.name,
        'users per s': rate,
        'bare client, users per s': bare,
        '× bare': rate / bare,
      },
      {
        what: 'a leaver',
        on: backend.name,
        'median ms': median(waits),
        'worst ms': Math.max(...waits),
        '× goal': Math.max(...waits) / GOAL_MS,
      },
    ]
  } finally {
    await installation.remove()
  }
}

export const measureScimOut: Measurement = async ({ backends }) => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-bench-'))
  const peer = await openScimPeer()
  const trust = join(folder, 'ca.pem')
  writeFileSync(trust, peer.certificate)
  try {
    const rows: Row[] = []
    for (const backend of backends) {
      peer.users.clear()
      rows.push(...(await measureOn(backend, peer, trust)))
    }
    return {
      title: 'SCIM targets: an initial sync, and how long a leaver stays active',
      notes: [
        `${USERS} users, ${AT_ONCE} requests at once; ${LEAVERS} leavers one after the other; the start of the server is part of the initial sync`,
        'the target (scimmy on express, TLS) runs in the process of the generator',
      ],
      rows,
    }
  } finally {
    await peer.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
