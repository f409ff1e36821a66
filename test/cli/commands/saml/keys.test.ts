/** Signing keys and service providers, from the command line. */
import { describe, expect, it } from 'vitest'
import { makeCertificate } from '../../../platform/outgoing/certificates.ts'
import { startWorld } from '../fixture/fixture.ts'

const world = startWorld()

const entityId = 'https://late.example'
const path = '/admin/realms/acme/saml-clients'

describe('keys of a realm with service providers', () => {
  it('are published ahead, and stay while one is pinned', async () => {
    const { home, admin } = world()
    const run = async (...args: string[]) => home.run(args)
    const list = async () => JSON.parse((await run('keys', 'list', '-o', 'json')).stdout)
    const [{ keyId: first }] = await list()
    expect((await run('keys', 'rotate', '--auto-approve')).code).toBe(0)
    const doc = { entityId, assertionConsumerServiceUrl: `${entityId}/acs` }
    // It ends within the hour.
    const { certificate } = makeCertificate(['late.example'], 2048)
    const provider = { ...doc, pinnedKey: { kid: first }, signingCertificate: certificate }
    expect((await admin.send('POST', path, provider)).status).toBe(201)

    const before = Date.now()
    const ahead = await run(
      'keys',
      'rotate',
      '--publish-ahead',
      '7d',
      '--auto-approve',
      '-o',
      'json',
    )
    const { status, signsFrom } = JSON.parse(ahead.stdout)
    expect(status).toBe('NEXT')
    expect(signsFrom - before).toBeGreaterThanOrEqual(7 * 86_400_000)
    const date = `${new Date(signsFrom).toISOString().slice(0, 19)}Z`
    const asked = await run('keys', 'rotate')
    expect([asked.code, asked.stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`from ${date} on.*Pending .*--fresh signs at once`, 's')),
    ])
    expect(asked.stderr).not.toMatch(/realm acme from now on|changes at once/)
    expect((await run('keys', 'rotate', '--fresh')).stderr).toMatch(/realm acme from now on/)
    const wrong = await run('keys', 'rotate', '--publish-ahead', 'soon', '--auto-approve')
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('publishAhead')])

    const forced = await run('keys', 'delete', first, '--force', '--auto-approve')
    expect([forced.code === 0, forced.stderr]).toEqual([false, expect.stringContaining(entityId)])
    const pruned = await run('keys', 'prune', '--auto-approve')
    expect(pruned.stderr).toContain(`key ${first} is kept: this key signs for 1 service providers`)
    expect((await list()).map(({ keyId }: { keyId: string }) => keyId)).toContain(first)

    const { findings } = JSON.parse((await run('doctor', '-o', 'json')).stdout)
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'saml-certificates',
        status: 'warning',
        message: expect.stringContaining(`signingCertificate of ${entityId}`),
      }),
    )
  })
})
