/** The check of a directory finds what would keep its users out, before they do; and a schedule syncs by itself. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { anyBackend } from '../support/backends.ts'
import { freePort } from '../support/processes/ports.ts'
import { makeCertificates } from '../support/processes/programs/directory-certificates.ts'
import { base, bindPassword } from './people.ts'
import {
  dnOf,
  group,
  groupBase,
  isUsers,
  openSyncWorld,
  person,
  type SyncWorld,
} from './sync-world.ts'

describe.each(anyBackend)('a directory on $name', (backend) => {
  let world: SyncWorld
  let late = 0
  const clock: Clock = { now: () => Date.now() + late }
  beforeAll(async () => {
    world = await openSyncWorld(backend, { clock })
  })
  afterAll(() => world?.close())
  beforeEach(() => {
    late = 0
    world.next()
  })

  const findings = async (): Promise<{ check: string; status: string; message: string }[]> => {
    const { status, body } = await world.admin('POST', `/identity-providers/${world.alias()}/check`)
    expect(status).toBe(200)
    expect(JSON.stringify(body)).not.toContain(bindPassword)
    return body
  }
  const check = async (): Promise<string[]> =>
    (await findings()).map((one) => `${one.check} ${one.status}`)

  it('that works has findings about encryption alone', async () => {
    world.add('ada')
    await world.provide()
    expect(await check()).toEqual([
      'directory-tls warning',
      'directory-bind ok',
      'directory-search ok',
    ])
  })

  it('that is away, refuses the bind user, hides its users or has a wrong clock is found out', async () => {
    world.add('ada')
    await world.provide({ url: `ldap://127.0.0.1:${await freePort()} ${world.ldap.url}` })
    expect(await check()).toContain('directory-connection error')
    await world.provide({ bindPassword: 'another' })
    expect(await check()).toContain('directory-bind error')
    await world.provide()
    world.ldap.faults.search = (call) => (isUsers(call) ? { entries: [] } : undefined)
    expect(await check()).toContain('directory-search error')
    world.ldap.faults.search = (call) =>
      call.base === ''
        ? { entries: [{ dn: '', attributes: { currentTime: ['20200101000000Z'] } }] }
        : undefined
    expect(await check()).toContain('directory-clock warning')
    await world.provide({ userSearchBase: `ou=none,${base}` })
    expect(await check()).toContain('directory-search error')
  })

  it.each([
    [
      'of OpenLDAP, which its monitor tells',
      { monitorContext: ['cn=Monitor'] },
      'cn=Current,cn=Time,cn=Monitor',
      'monitorTimestamp',
    ],
    ['of 389 Directory Server, which its monitor tells', {}, 'cn=monitor', 'currentTime'],
  ])('with a wrong clock %s is found out', async (_name, root, dn, attribute) => {
    world.add('ada')
    await world.provide()
    const now = new Date().toISOString().replaceAll(/[-:T]|\..*/g, '')
    for (const [time, isWrong] of [
      [`${now}Z`, false],
      ['20200101000000Z', true],
      ['at noon', false],
    ] as const) {
      const monitor = { objectClass: ['monitoredObject'], [attribute]: [time] }
      world.ldap.faults.search = ({ base: asked }) => {
        if (asked === '') return { entries: [{ dn: '', attributes: root }] }
        return asked === dn ? { entries: [{ dn, attributes: monitor }] } : undefined
      }
      expect((await check()).includes('directory-clock warning'), time).toBe(isWrong)
    }
  })

  it('of Active Directory that hides who is disabled is found out', async () => {
    const objectGUID = [Buffer.alloc(16, 7)]
    world.ldap.entries.push(person(world.named('ada'), { objectGUID }))
    await world.provide({}, { protocol: 'ad' })
    expect(await check()).toContain('directory-search warning')
    world.ldap.entries.pop()
    const known = { objectGUID, userAccountControl: ['512'] }
    world.ldap.entries.push(person(world.named('ada'), known))
    expect(await check()).not.toContain('directory-search warning')
  })

  it('whose groups cannot be found is found out', async () => {
    world.add('ada')
    world.ldap.entries.push(group(`team-${world.alias()}`, [dnOf(world.named('ada'))]))
    await world.provide({ groupSearchBase: groupBase })
    expect(await check()).toContain('directory-groups ok')
    await world.provide({ groupSearchBase: groupBase, groupFilter: '(cn=none)' })
    expect(await check()).toContain('directory-groups warning')
    world.ldap.faults.search = (call) =>
      call.base === groupBase ? { entries: [], code: 32 } : undefined
    expect(await check()).toContain('directory-groups error')
  })

  it.each([
    ['that lasts', {}, 'certificate valid until'],
    ['that expires soon', { days: 20 }, 'the certificate of ldaps:'],
    ['whose authority expires soon', { authorityDays: 20 }, 'of an authority of ldaps:'],
  ])('with a certificate %s is said so', async (_name, options, words) => {
    const folder = mkdtempSync(join(tmpdir(), 'iamctl-ldaps-'))
    const files = makeCertificates(folder, options)
    const [key, cert, caCertificate] = [files.key, files.certificate, files.ca].map((file) =>
      readFileSync(file, 'utf8'),
    )
    const server = createServer({ key, cert }, (socket) => {
      const inner = connect(world.ldap.port, '127.0.0.1')
      for (const one of [socket, inner]) one.on('error', () => inner.destroy())
      socket.pipe(inner).pipe(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      world.add('ada')
      await world.provide({ url: `ldaps://127.0.0.1:${port}`, caCertificate })
      const found = (await findings()).find((one) => one.check === 'directory-tls')
      expect(found?.message).toContain(words)
    } finally {
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('with a schedule is read when it is due, and not before', async () => {
    world.add('ada')
    await world.provide({ syncSchedule: '15m' })
    const { scheduledSyncs } = world.site.site.server.areas
    const run = () => scheduledSyncs(new AbortController().signal)
    await run()
    expect(await world.user('ada')).toMatchObject({ enabled: true })
    world.add('bob')
    await run()
    expect(await world.user('bob')).toBeUndefined()
    late = 15 * 60_000
    await run()
    expect(await world.user('bob')).toMatchObject({ enabled: true })
  })

  it('whose scheduled sync ends with the server is due at once when the server is back', async () => {
    world.add('ada')
    await world.provide({ syncSchedule: '1d' })
    const { scheduledSyncs } = world.site.site.server.areas
    const server = new AbortController()
    world.ldap.faults.search = (call) => {
      if (isUsers(call)) server.abort()
      return undefined
    }
    await scheduledSyncs(server.signal)
    expect(await world.user('ada')).toBeUndefined()
    const standing = await world.admin('GET', `/user-federation/${world.alias()}/sync`)
    expect(standing.body).toMatchObject({ running: false, finishedAt: null, outcome: null })
    world.ldap.faults = {}
    await scheduledSyncs(new AbortController().signal)
    expect(await world.user('ada')).toMatchObject({ enabled: true })
  })

  it('whose scheduled sync fails leaves an event that says why, and is not asked again at once', async () => {
    world.add('ada')
    await world.provide({ syncSchedule: '15m' })
    world.ldap.faults.search = (call) => (isUsers(call) ? { entries: [], code: 50 } : undefined)
    const { scheduledSyncs } = world.site.site.server.areas
    await scheduledSyncs(new AbortController().signal)
    const [event] = await world.site.site.events('ADMIN_ACTION')
    expect(event).toMatchObject({ outcome: 'FAILURE', actor: 'system' })
    expect(event?.detail).toContain('the bind user lacks the right')
    world.ldap.forget()
    await scheduledSyncs(new AbortController().signal)
    expect(world.ldap.searches).toEqual([])
  })
})
