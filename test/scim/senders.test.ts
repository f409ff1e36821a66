/**
 * What Entra ID and Okta send, by the documents of Microsoft and Okta: every request is accepted, and leaves the state that its
 * sender means. `entra-flag` is Entra ID with `aadOptscim062020` in the tenant URL, `okta-oin` an application of Okta's catalogue.
 */

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sender, startWorld, type World } from './sender.ts'

interface Case {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly status: number
  /** Made before the request; `{id}` is its id. */
  readonly given?: object
  readonly kind?: 'Groups'
  readonly body?: object
  /** Of the resource afterwards. */
  readonly want?: Readonly<Record<string, unknown>>
  readonly absent?: readonly string[]
  /** How many resources a list has. */
  readonly listed?: number
}

const names = ['entra', 'entra-flag', 'okta', 'okta-oin'] as const

const casesOf = (name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`senders/${name}.json`, import.meta.url), 'utf8'))

/** Lists are whole, in the same order. */
const expectState = (actual: Readonly<Record<string, unknown>>, want: object): void => {
  expect(actual).toMatchObject(want)
}

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

it('has at least forty requests', () => {
  expect(names.flatMap(casesOf).length).toBeGreaterThanOrEqual(40)
})

describe.each(names)('%s', (sender) => {
  let scim: Sender
  let people: Readonly<Record<string, string>>

  beforeAll(async () => {
    scim = await world.sender({ sender })
    people = {
      alice: (await scim.user(`alice-${sender}`)).id,
      bob: (await scim.user(`bob-${sender}`)).id,
    }
  })

  it.each(casesOf(sender).map((one, index) => ({ ...one, index })))('$name', async (one) => {
    const name = `${sender}-${one.index}`
    const filled = <T>(value: T, id = ''): T =>
      JSON.parse(
        JSON.stringify(value)
          .replaceAll('{name}', name)
          .replaceAll('{NAME}', name.toUpperCase())
          .replaceAll('{alice}', people['alice'] ?? '')
          .replaceAll('{bob}', people['bob'] ?? '')
          .replaceAll('{id}', id),
      )
    const kind = one.kind ?? (one.path.startsWith('/Groups') ? 'Groups' : 'Users')
    const made = one.given ? await scim.send('POST', `/${kind}`, filled(one.given)) : undefined
    if (made) expect(made.status, JSON.stringify(made.body)).toBe(201)
    const id = made?.body.id ?? ''
    const [path = '', query] = filled(one.path, id).split('?')
    const answer = await scim.send(
      one.method,
      query === undefined ? path : `${path}?${encodeURI(query)}`,
      one.body && filled(one.body, id),
    )
    expect(answer.status, JSON.stringify(answer.body)).toBe(one.status)
    if (one.listed !== undefined) expect(answer.body.Resources).toHaveLength(one.listed)
    if (!one.want) return
    const state = await scim.send('GET', `/${kind}/${id || answer.body.id}`)
    expectState(state.body, filled(one.want, id))
    for (const absent of one.absent ?? []) expect(state.body).not.toHaveProperty([absent])
  })
})
