/** Writes of a realm take turns, and one that waited long for its turn is admitted again. */

import { setTimeout } from 'node:timers/promises'
import fastify from 'fastify'
import { expect, it } from 'vitest'
import type { Turns } from '#server/http/limits/turns.ts'
import { takeScimBodies } from '#server/provisioning/scim/in/body.ts'
import type { Admit, ScimCall } from '#server/provisioning/scim/in/caller.ts'
import { refusedAt } from '#server/provisioning/scim/in/elsewhere.ts'
import { installScimErrors, ScimError } from '#server/provisioning/scim/in/errors.ts'
import {
  addResourceRoutes,
  createScimTurns,
  type Resources,
} from '#server/provisioning/scim/in/resource-routes.ts'
import { userType } from '#server/provisioning/scim/in/schema/user-schema.ts'

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

it('eight writes of a realm are under way at once, and those that may not even wait get 429', async () => {
  let [running, most] = [0, 0]
  const send = serviceWith(createScimTurns(), async () => {
    running += 1
    most = Math.max(most, running)
    await setTimeout(5)
    running -= 1
  })
  const answers = await Promise.all(Array.from({ length: 600 }, send))
  expect(most).toBe(8)
  const refused = answers.filter(({ statusCode }) => statusCode === 429)
  expect(refused).toHaveLength(600 - 508)
  expect(refused[0]?.json()).toMatchObject({ status: '429' })
  expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0)
})
