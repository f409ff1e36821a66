import { describe, expect, it } from 'vitest'
import { addressGroup } from '#server/http/client-address.ts'
import { createMemoryLimiter, type RateLimit, rateLimited } from '#server/http/rate-limit.ts'
import { bareServer } from './bare-server.ts'

const limiterAt = (limit: RateLimit) => {
  let now = 1_000_000
  const limiter = createMemoryLimiter({ now: () => now }, limit)
  return {
    take: (key: string) => limiter.take(key),
    pass: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

describe('a rate limit', () => {
  it('lets a burst through, then tells how long to wait', async () => {
    const { take, pass } = limiterAt({ limit: 10, seconds: 10, burst: 3 })
    const answers = [await take('a'), await take('a'), await take('a'), await take('a')]
    expect(answers).toEqual([0, 0, 0, 1])
    pass(999)
    expect(await take('a')).toBe(1)
    pass(1)
    expect(await take('a')).toBe(0)
    expect(await take('a')).toBe(1)
  })

  it('is not lengthened by attempts that were refused', async () => {
    const { take, pass } = limiterAt({ limit: 1, seconds: 60 })
    await take('a')
    for (let attempt = 0; attempt < 100; attempt += 1) expect(await take('a')).toBe(60)
    pass(60_000)
    expect(await take('a')).toBe(0)
  })

  it('counts each key for itself', async () => {
    const { take } = limiterAt({ limit: 1, seconds: 60 })
    expect([await take('a'), await take('b'), await take('a')]).toEqual([0, 0, 60])
  })

  it('never gives back more than the burst', async () => {
    const { take, pass } = limiterAt({ limit: 2, seconds: 1 })
    pass(86_400_000)
    expect([await take('a'), await take('a'), await take('a')]).toEqual([0, 0, 1])
  })

  it('forgets the key unused for longest when there are too many, and no other', async () => {
    const { take } = limiterAt({ limit: 1, seconds: 60, maxKeys: 2 })
    await take('a')
    await take('b')
    await take('c')
    expect(await take('c')).toBe(60)
    expect(await take('b')).toBe(60)
    expect(await take('a')).toBe(0)
  })

  it('lets exactly the burst through when requests come at once', async () => {
    const { take } = limiterAt({ limit: 20, seconds: 60 })
    const answers = await Promise.all(Array.from({ length: 200 }, () => take('a')))
    expect(answers.filter((answer) => answer === 0)).toHaveLength(20)
  })

  it('is answered 429 with Retry-After', async () => {
    const { app } = bareServer()
    const limiter = createMemoryLimiter({ now: () => 0 }, { limit: 1, seconds: 30 })
    const onRequest = rateLimited(limiter, (request) => addressGroup(request.ip))
    app.get('/', { onRequest }, async () => ({}))
    expect((await app.inject('/')).statusCode).toBe(200)
    const response = await app.inject('/')
    expect(response.statusCode).toBe(429)
    expect(response.headers['retry-after']).toBe('30')
    expect(response.json()).toMatchObject({ code: 'rate-limited', retryAfter: 30 })
    expect((await app.inject({ url: '/', remoteAddress: '10.0.0.9' })).statusCode).toBe(200)
    await app.close()
  })
})

describe('the group of an address', () => {
  it('is the address itself for IPv4 and the /64 for IPv6', () => {
    expect(addressGroup('192.0.2.1')).toBe('192.0.2.1')
    expect(addressGroup('2001:db8:1:2:aaaa::1')).toBe(addressGroup('2001:db8:1:2:ffff::9'))
    expect(addressGroup('2001:db8:1:2::1')).not.toBe(addressGroup('2001:db8:1:3::1'))
  })
})
