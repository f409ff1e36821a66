/** Connections to a directory: how many there are, how long one is waited for, and where none is ever opened to. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { change } from '../oidc/relying-party.ts'
import { anyBackend } from '../support/backends.ts'
import { makeCertificates } from '../support/processes/programs/directory-certificates.ts'
import { type LdapServer, startLdap } from './ldap-server.ts'
import {
  bindUser,
  configFor,
  type DirectorySite,
  entryOf,
  openDirectorySite,
  realmOf,
  secretOf,
} from './people.ts'

const crowd = Array.from({ length: 40 }, (_, i) => `user${i}`)

describe.each(anyBackend)('connections to a directory, on $name', (backend) => {
  let ldap: LdapServer
  let it_: DirectorySite
  beforeAll(async () => {
    ldap = await startLdap()
    it_ = await openDirectorySite(backend)
    await change(it_.site, '/settings', { bruteForceProtected: false })
  })
  afterAll(async () => {
    await it_?.close()
    await ldap?.close()
  })
  let pageSize = 100
  beforeEach(async () => {
    ldap.faults = {}
    ldap.entries = [bindUser, ...['ada', ...crowd].map((uid) => entryOf(uid))]
    ldap.forget()
    // A changed document gets new connections.
    pageSize += 1
    await it_.provide({ ...configFor(ldap.url), pageSize })
  })

  it('are kept for the next sign-in, and are few however many sign in at once', async () => {
    let most = 0
    ldap.faults.wait = async () => {
      most = Math.max(most, ldap.connections())
      await sleep(20)
    }
    const signIns = await Promise.all(crowd.map((uid) => it_.grant(uid, secretOf(uid))))
    expect(new Set(signIns.map(({ status }) => status))).toEqual(new Set([200]))
    // Sixteen in use, and four of each kind that wait for the next sign-in.
    expect(most).toBeLessThanOrEqual(24)
    ldap.forget()
    for (const uid of crowd.slice(0, 5)) await it_.grant(uid, secretOf(uid))
    expect(ldap.binds.filter((dn) => dn === bindUser.dn)).toEqual([])
    expect(ldap.connections()).toBeLessThanOrEqual(8)
  })

  it('are given up after five seconds without an answer, and the next address is asked', async () => {
    const silent = await startLdap([bindUser])
    silent.faults.bind = () => 'silent'
    try {
      await it_.provide({ ...configFor(`${silent.url} ${ldap.url}`), pageSize })
      const began = performance.now()
      expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
      const first = performance.now() - began
      expect(first).toBeGreaterThan(4500)
      expect(first).toBeLessThan(9000)
      // It is asked last for a while: the next sign-in does not wait for it.
      const again = performance.now()
      expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
      expect(performance.now() - again).toBeLessThan(2500)
    } finally {
      await silent.close()
    }
  })

  it('that were kept to a server which froze give way to the next address, and no password is tried twice', async () => {
    const second = await startLdap(ldap.entries)
    try {
      await it_.provide({ ...configFor(`${ldap.url} ${second.url}`), pageSize })
      expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
      ldap.faults = { search: () => 'silent', bind: () => 'silent' }
      second.forget()
      expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
      expect((await it_.grant('ada', 'wrong')).status).toBe(400)
      expect(second.binds.filter((dn) => dn === entryOf('ada').dn)).toHaveLength(2)
    } finally {
      await second.close()
    }
  })

  it.each([
    ['a continuation reference', undefined],
    ['a referral', 10],
  ])('are not opened to where %s points', async (_name, code) => {
    const elsewhere = await startLdap([bindUser, entryOf('mallory')])
    try {
      const urls = [`${elsewhere.url}/${entryOf('mallory').dn}`]
      ldap.faults.search = () => ({ entries: [], elsewhere: urls, ...(code ? { code } : {}) })
      expect((await it_.grant('mallory', secretOf('mallory'))).status).toBe(code ? 503 : 400)
      const sync = `/admin/realms/${realmOf(it_.site)}/user-federation/corp/sync`
      expect((await it_.site.server.admin.send('POST', sync)).status).toBe(503)
      expect([elsewhere.connections(), elsewhere.binds]).toEqual([0, []])
    } finally {
      await elsewhere.close()
    }
  })

  it('are not made with TLS 1.1, whatever the process allows', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'iamctl-ldaps-'))
    const files = makeCertificates(folder)
    const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls
    // What an operator's `--tls-min-v1.0 --tls-cipher-list` would do.
    Object.assign(tls, { DEFAULT_MIN_VERSION: 'TLSv1', DEFAULT_CIPHERS: 'DEFAULT@SECLEVEL=0' })
    const versions: (string | null)[] = []
    const server = tls.createServer(
      {
        key: readFileSync(files.key),
        cert: readFileSync(files.certificate),
        maxVersion: 'TLSv1.1',
      },
      (socket) => versions.push(socket.getProtocol()),
    )
    try {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const ca = readFileSync(files.ca, 'utf8')
      await new Promise<void>((resolve, reject) => {
        const probe = tls.connect({ host: '127.0.0.1', port, ca }, () =>
          resolve(probe.end() && undefined),
        )
        probe.on('error', reject)
      })
      expect(versions).toEqual(['TLSv1.1'])
      await it_.provide({ ...configFor(`ldaps://127.0.0.1:${port}`), caCertificate: ca })
      expect((await it_.grant('ada', secretOf('ada'))).status).toBe(503)
      expect(versions).toEqual(['TLSv1.1'])
    } finally {
      Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS })
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
