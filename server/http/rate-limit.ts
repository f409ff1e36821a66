/**
 * Rate limits: a token bucket per key, kept as one number (the generic cell rate algorithm). The interface is
 * what a shared store can offer as well, so that nodes may later count together.
 */

import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Clock } from '#server/platform/clock.ts'

export interface RateLimiter {
  /** Takes one token of the key; 0 when there was one, else the seconds until there will be. */
  take(key: string): Promise<number>
  /** Puts back a token that was taken, where only failures are to count. */
  give(key: string): Promise<void>
}

export interface RateLimit {
  /** Tokens that come back in `seconds`. */
  readonly limit: number
  readonly seconds: number
  /** How many may be taken at once after a pause; `limit` when absent. */
  readonly burst?: number
  /** Keys that are remembered; the one unused for longest is forgotten first. */
  readonly maxKeys?: number
}

export const createMemoryLimiter = (
  clock: Clock,
  { limit, seconds, burst = limit, maxKeys = 50_000 }: RateLimit,
): RateLimiter => {
  const interval = (seconds * 1000) / limit
  /** When the bucket of a key will be full again; a Map keeps the order in which keys were used. */
  const fullAt = new Map<string, number>()

  /** Full buckets are as good as unknown ones; they collect at the old end. */
  const forget = (now: number): void => {
    for (const [key, full] of fullAt) {
      if (full > now && fullAt.size <= maxKeys) return
      fullAt.delete(key)
    }
  }

  return {
    take: async (key) => {
      const now = clock.now()
      const full = Math.max(fullAt.get(key) ?? 0, now)
      const wait = full + interval - burst * interval - now
      // A refused attempt does not move the key: it is due again when its time has come.
      if (wait > 0) return Math.ceil(wait / 1000)
      fullAt.delete(key)
      fullAt.set(key, full + interval)
      forget(now)
      return 0
    },
    give: async (key) => {
      const full = fullAt.get(key)
      if (full !== undefined) fullAt.set(key, full - interval)
    },
  }
}

/** A hook that answers 429 with Retry-After (RFC 6585 §4) when the key of the request has no token left. */
export const rateLimited =
  (limiter: RateLimiter, keyOf: (request: FastifyRequest) => string): onRequestAsyncHookHandler =>
  async (request) => {
    const retryAfter = await limiter.take(keyOf(request))
    if (retryAfter > 0)
      throw new Problem('rate-limited', `Try again in ${retryAfter} s.`, { extra: { retryAfter } })
  }
