/** Writes of a realm take turns, and one that waited long for its turn is admitted again. */

import { setTimeout } from 'node:timers/promises'
import fastify from 'fastify'
import { expect, it, vi } from 'vitest'
import { createForeground } from '#server/http/limits/foreground.ts'
import type { Turns } from '#server/http/limits/turns.ts'
import { takeScimBodies } from '#server/provisioning/scim/in/body.ts'
import type { Admit, ScimCall } from '#server/provisioning/scim/in/caller.ts'
import { installScimErrors, ScimError } from '#server/provisioning/scim/in/errors.ts'
import { isScim } from '#server/provisioning/scim/in/open.ts'
import {
  addResourceRoutes,
  createScimTurns,
  type Resources,
} from '#server/provisioning/scim/in/resource-routes.ts'
import { userType } from '#server/provisioning/scim/in/schema/user-schema.ts'
import { refusedAt } from '#server/provisioning/scim/in/unsupported-paths.ts'

const made = { id: '1', meta: { version: 'W/"1"', location: 'https://id.example/Users/1' } }

/** A service whose token is revoked as soon as it was shown once. */
const serviceWith = (turns: Turns, create: () => Promise<void> = async () => undefined) => {
  const admitted = new Set<object>()
  const admit: Admit = async (request) => {
    if (admitted.has(request)) throw new ScimError(401, 'the token is revoked')
    admitted.add(request)
    return { realm: 'acme' } as ScimCall
  }
  const resources: Resources = {
    type: userType,
    scope: 'users',
    find: async () => ({ resources: [], total: 0 }),
    create: async () => {
      await create()
      return made
    },
    read: async () => made,
    replace: async () => made,
    change: async () => made,
    remove: async () => undefined,
  }
  const app = fastify()
  installScimErrors(app, () => undefined, refusedAt)
  takeScimBodies(app)
  addResourceRoutes(app, { admit, turns }, '/Users', resources)
  return () =>
    app.inject({
      method: 'POST',
      url: '/Users',
      headers: { 'content-type': 'application/scim+json' },
      payload: '{}',
    })
}

it('a write that waited for more than a second is refused where its token was revoked meanwhile', async () => {
  const at = (ms: number) =>
    serviceWith(async (_realm, work) => {
      await setTimeout(ms)
      return work()
    })()
  expect((await at(0)).statusCode).toBe(201)
  expect((await at(1100)).statusCode).toBe(401)
})

/** Writes that are counted while they run. */
const counted = (isBusy: () => boolean) => {
  const seen = { running: 0, most: 0 }
  const send = serviceWith(createScimTurns({ isBusy }), async () => {
    seen.running += 1
    seen.most = Math.max(seen.most, seen.running)
    await setTimeout(5)
    seen.running -= 1
  })
  return { seen, sendMany: (count: number) => Promise.all(Array.from({ length: count }, send)) }
}

it('sixteen writes of a realm run at once, and writes beyond the queue get 429', async () => {
  const { seen, sendMany } = counted(() => false)
  const answers = await sendMany(600)
  expect(seen.most).toBe(16)
  const refused = answers.filter(({ statusCode }) => statusCode === 429)
  expect(refused).toHaveLength(600 - 516)
  expect(refused[0]?.json()).toMatchObject({ status: '429' })
  expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0)
})

it('writes of a realm go one by one while other requests are served, and all of them end', async () => {
  let isBusy = true
  const { seen, sendMany } = counted(() => isBusy)
  await sendMany(50)
  expect(seen.most).toBe(1)
  const answers = sendMany(100)
  await setTimeout(10)
  isBusy = false
  for (const { statusCode } of await answers) expect(statusCode).toBe(201)
  expect(seen.most).toBe(16)
})

it('requests other than those of SCIM are the foreground, for a moment', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const foreground = createForeground()
    expect(foreground.isBusy()).toBe(false)
    foreground.note()
    vi.advanceTimersByTime(99)
    expect(foreground.isBusy()).toBe(true)
    vi.advanceTimersByTime(1)
    expect(foreground.isBusy()).toBe(false)
  } finally {
    vi.useRealTimers()
  }
  const scim = ['/realms/acme/scim/v2/Users?count=1', '/realms/a%20b/scim/v2/Groups/1']
  const others = ['/realms/acme/token', '/admin/realms/acme/users', '/realms/scim/v2', '/']
  expect([...scim, ...others].filter(isScim)).toEqual(scim)
})
