/** The keys of issuers: rotation, bounds, failures, and addresses that the server does not call. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRemoteKeys } from '#server/keys/remote/remote-keys.ts'
import type { Lookup } from '#server/platform/outgoing/lookup.ts'
import { openIssuer } from '../oidc/fixture.ts'
import { anyBackend } from '../support/backends.ts'
import {
  audience,
  exchangeForm,
  newAddress,
  openWorkloadSite,
  subject,
  type WorkloadSite,
} from './fixture.ts'
import { makeKey, openPlatform } from './platform.ts'

const hour = 3600

describe.each(anyBackend)('keys of workload issuers on $name', (backend) => {
  let world: WorkloadSite

  beforeEach(async () => {
    world = await openWorkloadSite(backend)
  })
  afterEach(() => world.close())

  const status = async (): Promise<number> => (await world.exchange(await world.jwt())).status

  it('are fetched once and kept for ten minutes', async () => {
    for (let i = 0; i < 5; i += 1) expect(await status()).toBe(200)
    expect(world.platform.fetches()).toBe(1)
    world.clock.advance(570)
    expect(await status()).toBe(200)
    expect(world.platform.fetches()).toBe(1)
    world.clock.advance(31)
    expect(await status()).toBe(200)
    expect(world.platform.fetches()).toBe(2)
  })

  it('are kept for the max-age of the answer, a day at most', async () => {
    world.platform.cacheControl = 'public, max-age=7200'
    expect(await status()).toBe(200)
    world.clock.advance(7100)
    expect(await status()).toBe(200)
    expect(world.platform.fetches()).toBe(1)
    world.platform.cacheControl = 'max-age=99999999'
    world.clock.advance(101)
    expect(await status()).toBe(200)
    world.clock.advance(24 * hour + 1)
    expect(await status()).toBe(200)
    expect(world.platform.fetches()).toBe(3)
  })

  it('a new key is found at the first JWT that it signed', async () => {
    expect(await status()).toBe(200)
    world.platform.keys = [...world.platform.keys, await makeKey()]
    world.clock.advance(10)
    expect(await status()).toBe(200)
    expect(world.platform.fetches()).toBe(2)
  })

  it('a thousand JWTs with unknown keys cause one fetch in ten seconds', async () => {
    expect(await status()).toBe(200)
    const forged = await makeKey()
    const jwts = await Promise.all(
      Array.from({ length: 1000 }, (_, i) =>
        world.platform.sign(world.claims(), { kid: `unknown-${i}` }, forged),
      ),
    )
    const before = world.platform.fetches()
    world.clock.advance(10)
    const answers = await Promise.all(jwts.map((jwt) => world.exchange(jwt)))
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([401]))
    expect(world.platform.fetches()).toBe(before + 1)
    world.clock.advance(10)
    await Promise.all(jwts.slice(0, 20).map((jwt) => world.exchange(jwt)))
    expect(world.platform.fetches()).toBe(before + 2)
  })

  it('nothing is fetched for a JWT that no credential asks for', async () => {
    for (const changes of [{ sub: 'other' }, { aud: 'other' }, { iss: 'https://other.example' }])
      await world.exchange(await world.jwt(changes))
    await world.exchange('garbage')
    expect(world.platform.receiver.received).toEqual([])
  })

  it('while the issuer fails its keys are used for a day, and no longer', async () => {
    expect(await status()).toBe(200)
    world.platform.discovery = 503
    world.platform.jwks = 503
    world.clock.advance(hour)
    expect(await status()).toBe(200)
    world.clock.advance(22.9 * hour)
    expect(await status()).toBe(200)
    world.clock.advance(0.2 * hour)
    expect(await status()).toBe(401)
    world.platform.discovery = undefined
    world.platform.jwks = undefined
    world.clock.advance(11)
    expect(await status()).toBe(200)
  })

  it('an issuer that is slower than a refusal is waited for', async () => {
    const { answer } = world.platform
    world.platform.receiver.answer((response, request) => {
      setTimeout(() => answer(response, request), 1200)
    })
    expect(await status()).toBe(200)
    // A rotation too.
    world.platform.keys = [await makeKey()]
    world.clock.advance(10)
    expect(await status()).toBe(200)
    expect(world.platform.fetches()).toBe(2)
  })

  it('an issuer that does not answer is given up after five seconds', async () => {
    world.platform.receiver.answer(() => undefined)
    const jwt = await world.jwt()
    const before = performance.now()
    const answer = await world.exchange(jwt)
    const seconds = (performance.now() - before) / 1000
    expect([answer.status, answer.text]).toEqual([401, '{"error":"invalid_client"}'])
    expect(seconds).toBeGreaterThan(4)
    expect(seconds).toBeLessThan(9)
  })

  it('a failing issuer is asked once in ten seconds', async () => {
    world.platform.discovery = 503
    expect(await Promise.all(Array.from({ length: 10 }, status))).toEqual(Array(10).fill(401))
    expect(world.platform.receiver.received).toHaveLength(1)
    world.clock.advance(10)
    world.platform.discovery = undefined
    expect(await status()).toBe(200)
  })

  const lies: Readonly<Record<string, (lying: WorkloadSite) => void>> = {
    'a discovery document of another issuer': ({ platform }) => {
      platform.discovery = (truth) => ({ ...truth, issuer: `${platform.issuer}/` })
    },
    'a discovery document without an issuer': ({ platform }) => {
      platform.discovery = ({ issuer: _, ...rest }) => rest
    },
    'a key set at a plain http address': ({ platform }) => {
      platform.discovery = (truth) => ({
        ...truth,
        jwks_uri: platform.jwksUri.replace('https:', 'http:'),
      })
    },
    'a key set at an address inside': ({ platform }) => {
      platform.discovery = (truth) => ({ ...truth, jwks_uri: 'https://169.254.169.254/jwks' })
    },
    'a redirect of the discovery document': ({ platform }) => {
      platform.discovery = 302
    },
    'a redirect of the key set': ({ platform }) => {
      platform.jwks = 302
    },
    'a key set of more than 256 KiB': ({ platform }) => {
      platform.jwks = (truth) => ({ ...truth, padding: 'x'.repeat(256 * 1024) })
    },
    'a key set of more than a hundred keys': ({ platform }) => {
      platform.jwks = ({ keys }) => ({
        keys: Array.from({ length: 101 }, (_, i) => ({
          ...keys[0],
          kid: i ? `${i}` : keys[0]?.kid,
        })),
      })
    },
    'a key set that is no JSON': ({ platform }) => {
      platform.jwks = () => '<html>'
    },
    'a key set without keys': ({ platform }) => {
      platform.jwks = () => ({ keys: [] })
    },
    'a private key in the set': ({ platform }) => {
      platform.jwks = ({ keys }) => ({ keys: keys.map((key) => ({ ...key, d: 'AQAB' })) })
    },
  }

  it.each(Object.keys(lies))('%s is refused as any other JWT is', async (name) => {
    lies[name]?.(world)
    const answer = await world.exchange(await world.jwt())
    expect([answer.status, answer.text]).toEqual([401, '{"error":"invalid_client"}'])
    const [event] = await world.site.events('WORKLOAD_TOKEN')
    expect(event?.detail).toMatch(/^(the keys of the issuer cannot be used|no key of the issuer)/)
  })

  it('keys are fetched over https only, also where the server may call over plain http', async () => {
    const asked: string[] = []
    const plain = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.end(JSON.stringify({ keys: lax.platform.keys.map(({ jwk }) => jwk) }))
    })
    const lax = await openWorkloadSite(backend, { IAMCTL_OUTGOING_ALLOW_HTTP: 'true' })
    try {
      await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
      const { port } = plain.address() as AddressInfo
      lax.platform.discovery = (truth) => ({ ...truth, jwks_uri: `http://localhost:${port}/jwks` })
      expect((await lax.exchange(await lax.jwt())).status).toBe(401)
      expect(asked).toEqual([])
    } finally {
      plain.close()
      await lax.close()
    }
  })

  it('an explicit jwksUri needs no discovery', async () => {
    world.platform.discovery = 404
    await world.credentialWith({
      name: 'explicit',
      subject: 'explicit',
      jwksUri: world.platform.jwksUri,
    })
    expect((await world.exchange(await world.jwt({ sub: 'explicit' }))).status).toBe(200)
    expect(world.platform.receiver.at('/.well-known/openid-configuration')).toEqual([])
  })
})

describe.each(anyBackend)('addresses of workload issuers on $name', (backend) => {
  /** A site that may call no private address; every name leads where the test says. */
  const open = async (lookup: Lookup) => {
    const platform = await openPlatform()
    const site = await openIssuer(backend, { lookup })
    await site.client({ clientId: 'deployer', grantTypes: ['client_credentials'] })
    const exchange = async (issuer: string, jwksUri?: string): Promise<number> => {
      await site.admin('POST', '/workload-identity', {
        name: newAddress(),
        issuer,
        ...(jwksUri === undefined ? {} : { jwksUri }),
        subject,
        audience,
        clientId: 'deployer',
      })
      const iat = Math.floor(Date.now() / 1000)
      const jwt = await platform.sign({
        iss: issuer,
        sub: subject,
        aud: audience,
        iat,
        exp: iat + 60,
      })
      const { statusCode } = await site.server.app.inject({
        method: 'POST',
        url: '/realms/acme/workload-identity/token',
        remoteAddress: newAddress(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams(exchangeForm(jwt)).toString(),
      })
      return statusCode
    }
    return {
      platform,
      exchange,
      close: async () => {
        await site.close()
        await platform.close()
      },
    }
  }

  it('no name or number that leads inside is called, as issuer or as jwksUri (SSRF)', async () => {
    const site = await open(async () => [{ address: '127.0.0.1', family: 4 }])
    const { port } = new URL(site.platform.issuer)
    const hosts = [
      ...['inside.example', 'x.localhost', '127.0.0.1', '2130706433', '0x7f000001', '0.0.0.0'],
      ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '169.254.169.254'],
    ]
    try {
      await Promise.all(
        hosts.map(async (host) => {
          const jwksUri = `https://${host}:${port}/jwks`
          const statuses = await Promise.all([
            site.exchange(`https://${host}:${port}`),
            site.exchange(`https://issuer.example/${host}`, jwksUri),
          ])
          expect(statuses, host).toEqual([401, 401])
        }),
      )
      expect(site.platform.receiver.received).toEqual([])
    } finally {
      await site.close()
    }
  })

  it('a name whose address changes after the check is not followed (DNS rebinding)', async () => {
    let asked = 0
    const site = await open(async () => {
      asked += 1
      return [{ address: asked % 2 === 1 ? '203.0.113.1' : '127.0.0.1', family: 4 }]
    })
    const { port } = new URL(site.platform.issuer)
    try {
      // The second answer of the name server leads inside, and is checked as the first was.
      await site.exchange(`https://rebind.example:${port}`)
      expect(await site.exchange(`https://rebind.example:${port}/again`)).toBe(401)
      expect(site.platform.receiver.received).toEqual([])
    } finally {
      await site.close()
    }
  })
})

describe('key sets of many addresses', () => {
  it('leave the sets in use, and the limits of fetches, as they are', async () => {
    const asked: string[] = []
    const ofUs = 'https://us.example/jwks'
    const keysAt = createRemoteKeys({
      clock: { now: () => 0 },
      outgoing: {
        request: async ({ url }) => {
          asked.push(url)
          return { status: 200, headers: {}, body: Buffer.from('{"keys":[]}') }
        },
      },
    })
    const ask = (url: string) =>
      expect(keysAt(url)('no JWT', { algorithms: ['RS256'] })).rejects.toThrow()
    for (let n = 0; n < 1500; n += 1) {
      await ask(`https://others.example/${n}`)
      await ask(ofUs)
    }
    expect(asked.filter((url) => url === ofUs)).toHaveLength(1)
    expect(asked).toHaveLength(1501)
  })
})
