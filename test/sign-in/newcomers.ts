/** A server that the tests of a suite share, with a new user for each test, so that tests are independent. */

import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Backend } from '../support/backends.ts'
import { openWorld, type World } from './world.ts'

/** `arrive` gets the name of the new user, and the number of users before. */
export const withNewcomers = (
  backend: Backend,
  prefix: string,
  arrive: (world: World, name: string, count: number) => Promise<void>,
  opened?: (world: World) => Promise<void>,
): void => {
  let world: World | undefined
  let count = 0
  beforeAll(async () => {
    world = await openWorld(backend)
    await opened?.(world)
  })
  afterAll(() => world?.close())
  beforeEach(async () => {
    count += 1
    if (world) await arrive(world, `${prefix}-${count}`, count)
  })
}
