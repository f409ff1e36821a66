/**
 * SSRF (CVE-2026-1180, GHSA-29jh-8cfq-rr8x): addresses that an administrator of a realm writes cause requests to the
 * public internet or to hosts that the operator allows; also with redirects, and with DNS answers that change between
 * check and request.
 */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Lookup } from '#server/platform/outgoing/lookup.ts'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { anyBackend } from '../../support/backends.ts'
import { isFull } from '../../support/run/chance.ts'
import { insideHosts } from './inside-hosts.ts'
import { type Door, openDoors } from './outgoing-doors.ts'

/** Counts who connects. */
const openInside = async (
  port: number,
  host?: string,
): Promise<{ server: Server; port: number; reached: () => number }> => {
  let reached = 0
  const server = createServer((socket) => {
    reached += 1
    socket.destroy()
  })
  server.listen(port, host)
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port, reached: () => reached }
}

/** Every host is tried with both, at one door or another; in the long run at every door. */
const schemes = ['https', 'http']

describe.each(anyBackend)('addresses that the server calls on $name', (backend) => {
  describe('with nothing allowed', () => {
    let site: OidcSite
    let doors: Readonly<Record<string, Door>>
    let inside: Awaited<ReturnType<typeof openInside>>
    beforeAll(async () => {
      inside = await openInside(0)
      site = await openIssuer(backend)
      doors = await openDoors(site)
    })
    afterAll(async () => {
      await site.close()
      inside.server.close()
    })

    it('lead to nothing that is not public, through no field and in no spelling', async () => {
      const called: string[] = []
      // Messaging has a limit on its tests; its addresses are in test/messaging/addresses.test.ts.
      const tried = Object.entries(doors).filter(([name]) => name !== 'SMS gateway')
      for (const [turn, [name, door]] of tried.entries())
        for (const [index, host] of insideHosts.entries())
          for (const scheme of isFull ? schemes : schemes.slice((index + turn) % 2).slice(0, 1)) {
            const url = `${scheme}://${host}:${inside.port}/inside`
            const { status } = await door.write(url)
            if (status < 300 && (await door.call())) called.push(`${name} ${url}`)
            else if (status >= 300 && status !== 400) called.push(`${name} ${url}: ${status}`)
          }
      expect(called).toEqual([])
      expect(inside.reached()).toBe(0)
    }, 120_000)
  })

  describe('with one host allowed', () => {
    let site: OidcSite
    let doors: Readonly<Record<string, Door>>
    let outside: Receiver
    let inside: Awaited<ReturnType<typeof openInside>>
    beforeAll(async () => {
      inside = await openInside(0)
      outside = await openReceiver()
      site = await openIssuer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
      doors = await openDoors(site)
    })
    afterAll(async () => {
      await site.close()
      await outside.close()
      inside.server.close()
    })

    it('are not followed to where the host redirects, neither inside nor from https to http', async () => {
      const called: string[] = []
      let made = 0
      for (const [name, door] of Object.entries(doors))
        for (const status of [302, 307, 308])
          for (const location of [
            `http://127.0.0.1:${inside.port}/`,
            `https://[::ffff:127.0.0.1]:${inside.port}/`,
            outside.url('/followed'),
          ]) {
            made += 1
            const path = `/${name.replaceAll(' ', '-')}/${made}`
            outside.answer((response) => response.writeHead(status, { location }).end())
            expect((await door.write(outside.url(path))).status, name).toBeLessThan(300)
            const before = outside.at(path).length
            await door.call()
            if (outside.at(path).length === before) called.push(`${name} was never called`)
          }
      expect(called).toEqual([])
      expect([inside.reached(), outside.at('/followed').length]).toEqual([0, 0])
    }, 120_000)
  })

  describe('with a name whose answer changes', () => {
    const name = 'rebind.example'
    let site: OidcSite
    let doors: Readonly<Record<string, Door>>
    let outside: Receiver
    let inside: Awaited<ReturnType<typeof openInside>>
    let answers = 0
    /** The address that is allowed for the first query, and the internal one for every further query. */
    const lookup: Lookup = async () => {
      answers += 1
      return [{ address: answers % 2 === 1 ? '127.0.0.2' : '127.0.0.1', family: 4 }]
    }
    beforeAll(async () => {
      outside = await openReceiver(name, '127.0.0.2')
      inside = await openInside(Number(new URL(outside.url('/')).port), '127.0.0.1')
      const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.2' }
      site = await openIssuer(backend, { env, lookup })
      doors = await openDoors(site)
    })
    afterAll(async () => {
      await site.close()
      await outside.close()
      inside.server.close()
    })

    it('go to the address that was checked, and to no later answer (DNS rebinding)', async () => {
      for (const [door, { write, call }] of Object.entries(doors)) {
        const path = `/${door.replaceAll(' ', '-')}`
        // No connection of the case before is used again.
        outside.answer((response) => response.writeHead(204, { connection: 'close' }).end())
        answers = 0
        expect((await write(outside.url(path))).status, door).toBeLessThan(300)
        await call()
        expect(outside.at(path).length, door).toBe(1)
        // The next answer is inside, and refused.
        await write(outside.url(`${path}/again`))
        answers = 1
        expect(await call(), door).toBe(false)
        expect(outside.at(`${path}/again`).length, door).toBe(0)
      }
      expect(inside.reached()).toBe(0)
    }, 60_000)
  })
})
