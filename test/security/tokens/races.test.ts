/**
 * Single-use handles, sent fifty times concurrently, to two nodes where they share a database: one is accepted
 * (CVE-2026-1035, CVE-2026-37982). Push and QR codes: test/self-service/approvals.test.ts.
 */

import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { backends } from '../../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../../support/server.ts'
import { type Fields, openWorld, type World } from './grants-in-flight.ts'

const many = 50

describe.each(backends)('fifty at once on $name', (backend) => {
  let world: World
  let other: TestServer
  beforeAll(async () => {
    world = await openWorld(backend)
    // A SQLite file belongs to one server; PostgreSQL is shared by several.
    other =
      backend.name === 'postgres'
        ? await startServer(backend, { url: world.site.server.url })
        : world.site.server
  }, 60_000)
  afterAll(async () => {
    if (other !== world.site.server) await other.close()
    await world.site.close()
  })

  const post = (server: TestServer, fields: Fields, headers: Fields = {}): Promise<Answer> =>
    server.anonymous.send(
      'POST',
      '/realms/acme/token',
      new URLSearchParams({ ...world.as(world.every), ...fields }).toString(),
      { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    )
  const atOnce = (fields: Fields, headers: Fields = {}): Promise<Answer[]> =>
    Promise.all(
      Array.from({ length: many }, (_, i) =>
        post(i % 2 === 0 ? world.site.server : other, fields, headers),
      ),
    )
  const outcome = (answers: readonly Answer[]): Record<string, number> => {
    const counted: Record<string, number> = {}
    for (const { status, body } of answers) {
      const key = `${status} ${body.error ?? 'tokens'}`
      counted[key] = (counted[key] ?? 0) + 1
    }
    return counted
  }

  it.each(['authorization_code', 'refresh_token', 'device', 'CIBA'])(
    'get tokens once for one %s',
    async (grant) => {
      const fields = (await world.inFlight())[grant]
      if (!fields) throw new Error('no such grant')
      const counted = outcome(await atOnce(fields))
      expect(counted['200 tokens']).toBe(1)
      expect(Object.values(counted).reduce((sum, one) => sum + one, 0)).toBe(many)
      expect(Object.keys(counted).filter((key) => !/^(200|400) /.test(key))).toEqual([])
      expect(outcome([await post(other, fields)])).toEqual({ '400 invalid_grant': 1 })
    },
  )

  it('are taken once where they are one DPoP proof (RFC 9449 §11.1)', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwk = await exportJWK(publicKey)
    const proof = (nonce?: string) =>
      new SignJWT({
        htm: 'POST',
        htu: `${world.site.issuer}/token`,
        jti: newId(),
        iat: Math.floor(Date.now() / 1000),
        nonce,
      })
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
        .sign(privateKey)
    const fields = { grant_type: 'client_credentials' }
    const asked = await post(world.site.server, fields, { dpop: await proof() })
    const dpop = await proof(String(asked.headers['dpop-nonce']))
    // Another node has an address of its own, which no proof for this one names.
    const answers = await Promise.all(
      Array.from({ length: many }, () => post(world.site.server, fields, { dpop })),
    )
    expect(outcome(answers)).toEqual({ '200 tokens': 1, '400 invalid_dpop_proof': many - 1 })
  })
})
