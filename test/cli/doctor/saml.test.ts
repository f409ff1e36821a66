/** What `iamctl doctor` finds about service providers, from the status that the server tells. */

import { describe, expect, it } from 'vitest'
import type { Connection } from '#cli/client/connect.ts'
import { ProblemError } from '#cli/client/http/errors.ts'
import { checkSaml } from '#cli/doctor/saml.ts'
import type { SamlStatus } from '#schemas/wire/records.ts'

const now = Date.parse('2026-06-01T00:00:00Z')
const day = 86_400_000
const facts = (expires: string) => ({ subject: 'CN=x', expires, sha256: 'AA:BB:CC:DD:EE:FF' })
const [active, old, next] = ['kid-active', 'kid-old', 'kid-next'] as const

type Provider = SamlStatus['serviceProviders'][number]

const provider = (entityId: string, more: Partial<Provider> = {}): Provider => ({
  entityId,
  enabled: true,
  keysUsed: [],
  pinned: null,
  certificates: [],
  metadata: null,
  ...more,
})

const status = (
  serviceProviders: readonly Provider[],
  expires: Partial<Record<string, string>> = {},
): SamlStatus => ({
  signingKeys: [
    { kid: active, status: 'ACTIVE', ...facts(expires[active] ?? '2030-01-01') },
    { kid: next, status: 'NEXT', ...facts(expires[next] ?? '2030-01-01') },
    { kid: old, status: 'PASSIVE', ...facts(expires[old] ?? '2030-01-01') },
  ],
  serviceProviders,
})

const examined = (told: SamlStatus | Error) =>
  checkSaml(
    {
      target: { realm: 'acme' },
      api: {
        saml: {
          status: async () => {
            if (told instanceof Error) throw told
            return told
          },
        },
      },
    } as unknown as Connection,
    now,
  )

describe('doctor, of service providers', () => {
  it('finds nothing where none is used and nothing ends', async () => {
    expect(await examined(status([provider('a')]))).toEqual([])
  })

  it('lists them by the key that signed for them last, and warns of one that is old', async () => {
    const used = (kid: string, ...before: string[]) => ({
      keysUsed: [kid, ...before].map((one, i) => ({ kid: one, usedAt: now - i * day })),
    })
    const many = Array.from({ length: 12 }, (_, i) => provider(`sp-${i}`, used(active, old)))
    const late = provider('late', {
      ...used(old),
      pinned: { kid: old, until: null, isKnown: true },
    })
    const found = await examined(
      status([...many, late, provider('never'), provider('g', used('x'))]),
    )
    expect(found).toMatchObject([
      { check: 'saml-keys', status: 'ok', message: expect.stringContaining('sp-9 and 2 more') },
      {
        status: 'warning',
        message: expect.stringMatching(/kid-old .* 1 service providers .*: late; it is an old key/),
        remedy: expect.stringContaining('pinnedKey'),
      },
      { status: 'warning', message: expect.stringContaining('not a key of the realm any more') },
    ])
  })

  it('warns of certificates of both sides that end within 30 days, and of those of disabled ones not', async () => {
    const ending = { certificates: [{ field: 'encryptionCertificate', ...facts('2026-06-30') }] }
    const found = await examined(
      status(
        [
          provider('a', ending),
          provider('b', { ...ending, enabled: false }),
          provider('c', {
            certificates: [{ field: 'signingCertificate', ...facts('2026-07-02') }],
          }),
          provider('d', { certificates: [{ field: 'certificates', ...facts('2026-01-01') }] }),
        ],
        { [next]: '2026-06-15', [old]: '2026-06-02' },
      ),
    )
    expect(found.map(({ check, message }) => [check, message])).toEqual([
      ['saml-certificates', 'the certificate of signing key kid-next expires on 2026-06-15'],
      [
        'saml-certificates',
        'encryptionCertificate of a (CN=x, SHA-256 AA:BB:CC:DD:EE:FF…) expires on 2026-06-30',
      ],
      [
        'saml-certificates',
        'certificates of d (CN=x, SHA-256 AA:BB:CC:DD:EE:FF…) expired on 2026-01-01',
      ],
    ])
  })

  it('warns of pinned keys that the realm has not, or whose time is nearly over', async () => {
    const pin = (isKnown: boolean, until: number | null) => ({
      pinned: { kid: old, until, isKnown },
    })
    const found = await examined(
      status([
        provider('gone', pin(false, null)),
        provider('soon', pin(true, now + 29 * day)),
        provider('later', pin(true, now + 31 * day)),
        provider('open', pin(true, null)),
      ]),
    )
    expect(found.map(({ message }) => message)).toEqual([
      expect.stringContaining('pinnedKey of gone is kid-old, which the realm does not have'),
      expect.stringContaining('pinnedKey of soon ends on 2026-06-30'),
    ])
  })

  it('warns of metadata that cannot be read', async () => {
    const read = { url: 'https://a.example/metadata', readAt: now - day, validUntil: null }
    const found = await examined(
      status([
        provider('a', { metadata: { ...read, failedAt: now, failure: 'url: no answer' } }),
        provider('b', { metadata: { ...read, failedAt: null, failure: null } }),
      ]),
    )
    expect(found).toMatchObject([
      {
        check: 'saml-metadata',
        message: 'the metadata of a cannot be read (last on 2026-05-31): url: no answer',
        remedy: expect.stringContaining(read.url),
      },
    ])
  })

  it('warns of metadata whose validity is over or ends within a day', async () => {
    const until = (validUntil: number | null) => ({
      metadata: {
        url: 'https://a.example/metadata',
        readAt: now - day,
        validUntil,
        failedAt: null,
        failure: null,
      },
    })
    const found = await examined(
      status([
        provider('over', until(now)),
        provider('soon', until(now + day)),
        provider('later', until(now + day + 1)),
        provider('open', until(null)),
        provider('off', { ...until(now), enabled: false }),
      ]),
    )
    expect(found.map(({ check, message }) => [check, message])).toEqual([
      ['saml-metadata', 'the metadata of over that was read last expired on 2026-06-01'],
      ['saml-metadata', 'the metadata of soon that was read last expires on 2026-06-02'],
    ])
  })

  it('advises those with a pin and those without apart, and looks at no disabled ones', async () => {
    const used = { keysUsed: [{ kid: old, usedAt: now }] }
    const pinned = { kid: old, until: null, isKnown: true }
    const gone = { kid: 'x', until: now + day, isKnown: false }
    const found = await examined(
      status([
        provider('plain', used),
        provider('pinned', { ...used, pinned }),
        provider('off', { ...used, pinned: gone, enabled: false }),
        provider('ending', { pinned: { ...pinned, until: now + day }, enabled: false }),
      ]),
    )
    expect(found).toMatchObject([
      {
        message: expect.stringMatching(/ 1 service providers .*: plain; it is an old key/),
        remedy: expect.stringContaining('the next sign-in at each uses the active key'),
      },
      {
        message: expect.stringMatching(/ 1 service providers .*: pinned; it is an old key/),
        remedy: expect.stringContaining('remove pinnedKey'),
      },
    ])
  })

  it('finds nothing at a server that does not tell, and passes other errors on', async () => {
    const problem = (code: number) =>
      new ProblemError({ status: code } as ConstructorParameters<typeof ProblemError>[0])
    expect(await examined(problem(403))).toEqual([])
    expect(await examined(problem(404))).toEqual([])
    await expect(examined(problem(500))).rejects.toThrow()
  })
})
