/** Syncs of a directory of 20,000 users and 200 groups: the first, those without changes, and one with 100 changes. */

import { Client } from 'ldapts'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { restChannel } from '#server/realm/write/operations.ts'
import {
  rootDn,
  rootPassword,
  type Slapd,
  startSlapd,
  suffix,
  treeLdif,
  userLdif,
} from '../../../support/processes/programs/slapd.ts'
import { adminUrl } from '../../admin.ts'
import { type Backend, system } from '../../backends.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { cpuOf, peakRssOf, rssOf } from '../../processes.ts'
import { signInAsAdmin } from '../../sign-in.ts'

const users = Array.from({ length: 20_000 }, (_, i) => `user${String(i).padStart(5, '0')}`)
const groups = 200
const changes = 100
/** Full syncs at the end: memory that grows with each would show. */
const again = 4

const dnOf = (uid: string): string => `uid=${uid},ou=people,${suffix}`

/** 24,900 memberships in all: groups of 1 to 248 members. */
const groupLdif = (n: number): string =>
  [
    `dn: cn=group${n},ou=groups,${suffix}`,
    'objectClass: groupOfNames',
    `cn: group${n}`,
    ...Array.from(
      { length: 25 + n },
      (_, i) => `member: ${dnOf(users[(n * 97 + i) % users.length] ?? '')}`,
    ),
    '',
    '',
  ].join('\n')

const ldif = (): string =>
  [
    treeLdif,
    ...users.map((uid) => userLdif(uid)),
    ...Array.from({ length: groups }, (_, n) => groupLdif(n)),
  ].join('')

/** Entries read and thrown away: no sync takes less. */
const readBare = async (slapd: Slapd, attributes: readonly string[]): Promise<number> => {
  const client = new Client({ url: slapd.url })
  await client.bind(rootDn, rootPassword)
  const began = performance.now()
  const options = {
    scope: 'sub' as const,
    filter: '(uid=*)',
    attributes: [...attributes],
    paged: { pageSize: 1000 },
  }
  for await (const _ of client.searchPaginated(`ou=people,${suffix}`, options));
  const seconds = (performance.now() - began) / 1000
  await client.unbind()
  return seconds
}

const all = ['entryUUID', 'uid', 'mail', 'givenName', 'sn', 'modifyTimestamp', 'entryCSN']
const idsOnly = ['entryUUID', 'uid', 'modifyTimestamp', 'entryCSN']

const measureOn = async (
  backend: Backend,
  slapd: Slapd,
  progress: (text: string) => void,
): Promise<Row[]> => {
  const database = await backend.create()
  try {
    await database.withParts(async ({ realm }) => {
      await realm.realms.create({ realm: 'acme' }, system)
      const config = {
        url: slapd.url,
        bindDn: rootDn,
        userSearchBase: `ou=people,${suffix}`,
        groupSearchBase: `ou=groups,${suffix}`,
        pageSize: 1000,
      }
      await realm.writer.write({
        realm: 'acme',
        caller: system,
        channel: restChannel,
        operations: [
          {
            op: 'put',
            kind: IdentityProvider,
            key: 'corp',
            doc: { alias: 'corp', protocol: 'ldap', config },
            secrets: { '/config/bindPassword': rootPassword },
          },
        ],
      })
    })
    const server = await database.serve({ IAMCTL_OUTGOING_ALLOW: '127.0.0.1' })
    progress(`${backend.name}: ready`)
    const headers = await signInAsAdmin(server.url)
    progress(`${backend.name}: signed in`)
    const before = rssOf(server.pid)
    const sync = async (what: string, read: readonly string[], query = ''): Promise<Row> => {
      const bare = await readBare(slapd, read)
      const cpu = cpuOf(server.pid)
      const began = performance.now()
      const path = `${adminUrl('acme', 'user-federation/corp/sync')}${query}`
      const response = await fetch(new URL(path, server.url), { method: 'POST', headers })
      const body = (await response.json()) as Record<string, number | string>
      if (response.status !== 200) throw new Error(JSON.stringify(body))
      const seconds = (performance.now() - began) / 1000
      progress(`${backend.name}: ${what}, ${seconds.toFixed(1)} s`)
      return {
        what,
        on: backend.name,
        s: Math.round(seconds * 100) / 100,
        '× bare reading': Math.round((seconds / bare) * 10) / 10,
        'CPU s of the server': Math.round((cpuOf(server.pid) - cpu) / 10) / 100,
        added: body['added'],
        updated: body['updated'],
        'RSS MB more': Math.round(rssOf(server.pid) - before),
        'peak RSS MB more': Math.round(peakRssOf(server.pid) - before),
      }
    }
    const first = await sync('first sync', all)
    const unchanged = await sync('all entries, none changed', all, '?full=true')
    const sweep = await sync('changed entries, none', idsOnly)
    await slapd.modify(
      users
        .slice(0, changes)
        .map((uid) => `dn: ${dnOf(uid)}\nchangetype: modify\nreplace: sn\nsn: ${backend.name}\n`)
        .join('\n'),
    )
    const changed = await sync(`changed entries, ${changes}`, idsOnly)
    const rows = [first, unchanged, sweep, changed]
    for (let time = 1; time <= again; time += 1)
      rows.push(await sync(`all entries again, ${time}`, all, '?full=true'))
    return rows
  } finally {
    await database.remove()
  }
}

export const measureDirectory: Measurement = async ({ backends, progress }) => {
  const slapd = await startSlapd({ ldif: ldif() })
  try {
    const rows: Row[] = []
    for (const backend of backends) rows.push(...(await measureOn(backend, slapd, progress)))
    return {
      title: 'sync of a directory: 20,000 users, 200 groups, 24,900 memberships',
      notes: [
        'OpenLDAP on the same machine',
        'an audit event for each user',
        'memory: more than before the first sync, now and at most; the aim is 100 MB',
        'bare reading: ldapts reads the same entries, or their ids, in the same minute and throws them away',
      ],
      rows,
    }
  } finally {
    await slapd.close()
  }
}
