/** Text as names and values: stored unchanged, or refused with 400, alike on both databases. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kindNamed } from '#schemas/registry.ts'
import { backends } from '../../support/backends.ts'
import { isLong } from '../../support/run/chance.ts'
import { leastBody } from '../../support/samples.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { createWorld, routedKinds, type World } from '../admin-api/world.ts'
import { naughtyStrings } from './naughty-strings.ts'

/** What each database made of the same text. */
const outcomes = new Map<string, string[]>()

const uuids = ['018f2d0e-7b1a-7c3e-9b1a-0123456789ab', '018F2D0E-7B1A-7C3E-9B1A-0123456789AB']

const controls = [
  '\u0000',
  'a\u0000',
  'a\tb',
  'a\nb',
  'a\rb',
  '\u001b[0m',
  'a\u007f',
  'a\u0085',
  '\ud800',
]

const keyed = [
  ['roles', 'role', 'name'],
  ['flows', 'flow', 'alias'],
  ['clients', 'client', 'clientId'],
  ['groups', 'group', 'name'],
] as const

/** One rule holds for the keys of all kinds: each text with one of them in turn, with every one in the long run. */
const textsFor = (path: string): readonly string[] => {
  const turn = keyed.findIndex(([one]) => one === path)
  return isLong
    ? naughtyStrings
    : naughtyStrings.filter((_, index) => index % keyed.length === turn)
}

describe.each(backends)('text on $name', (backend) => {
  let server: TestServer
  let world: World
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    world = createWorld(server)
    outcomes.set(backend.name, [])
  })
  afterAll(() => server.close())

  const note = (what: string, text: string, status: number): void => {
    outcomes.get(backend.name)?.push(`${what} ${JSON.stringify(text).slice(0, 60)}: ${status}`)
  }

  it.each(keyed)(
    'as the natural key of %s is kept and found under it, or refused',
    async (path, kind, field) => {
      const wrong: string[] = []
      for (const text of textsFor(path)) {
        const body = { ...leastBody(kindNamed(kind)), [field]: text }
        const made = await server.admin.send('POST', `${base}/${path}`, body)
        note(path, text, made.status)
        const problem = (reason: unknown) =>
          wrong.push(`${JSON.stringify(text).slice(0, 60)}: ${reason}`)
        if (made.status === 400) {
          if (!made.body.errors?.some((error: { field: string }) => error.field === `/${field}`))
            problem('a refusal without the field')
          continue
        }
        if (made.status !== 201) {
          problem(made.status)
          continue
        }
        const key = encodeURIComponent(kind === 'group' ? `/${text}` : text)
        const read = await server.admin.send('GET', `${base}/${path}/${key}`)
        if (read.status !== 200 || read.body[field] !== text) problem(`read ${read.status}`)
        const found = await server.admin.send('GET', String(made.headers['location']))
        if (found.status !== 200) problem(`location ${found.status}`)
        const deleted = await server.admin.send('DELETE', `${base}/${path}/${key}`)
        if (deleted.status !== 204) problem(`delete ${deleted.status}`)
      }
      expect(wrong).toEqual([])
    },
  )

  it('as a description, an attribute or a template is kept as it is, or refused', async () => {
    const wrong: string[] = []
    for (const [i, text] of naughtyStrings.entries()) {
      const name = `described-${i}`
      const values = { description: text, attributes: { [text]: [text, text] } }
      const made = await server.admin.send('POST', `${base}/roles`, { name, ...values })
      note('values', text, made.status)
      if (![201, 400].includes(made.status)) wrong.push(`${JSON.stringify(text)}: ${made.status}`)
      if (made.status !== 201) continue
      const { body } = await server.admin.send('GET', `${base}/roles/${name}`)
      if (
        body.description !== text ||
        JSON.stringify(body.attributes) !== JSON.stringify(values.attributes)
      )
        wrong.push(`${JSON.stringify(text)} came back as ${JSON.stringify(body)}`)
    }
    expect(wrong).toEqual([])
  })

  it('as a name of a user is kept, folded as one name, or refused', async () => {
    const wrong: string[] = []
    for (const text of naughtyStrings) {
      const user = { username: text, firstName: text, lastName: text }
      const made = await server.admin.send('POST', `${base}/users`, user)
      note('users', text, made.status)
      if (![201, 400].includes(made.status)) wrong.push(`${JSON.stringify(text)}: ${made.status}`)
      if (made.status !== 201) continue
      const { body } = await server.admin.send('GET', `${base}/users/${made.body.userId}`)
      if (body.firstName !== text || body.username !== text.normalize('NFKC').trim())
        wrong.push(`${JSON.stringify(text)} came back as ${JSON.stringify(body)}`)
      const search = await server.admin.send(
        'GET',
        `${base}/users?search=${encodeURIComponent(text)}`,
      )
      if (!search.body.some((one: { userId: string }) => one.userId === body.userId))
        wrong.push(`${JSON.stringify(text)} is not found`)
      await server.admin.send('DELETE', `${base}/users/${made.body.userId}`)
    }
    expect(wrong).toEqual([])
  })

  it('as a first name or an address alone is kept, or refused with its field', async () => {
    const wrong: string[] = []
    const { body: user } = await server.admin.send('POST', `${base}/users`, { username: 'plain' })
    const url = `${base}/users/${user.userId}`
    for (const text of naughtyStrings)
      for (const field of ['firstName', 'lastName', 'email']) {
        const put = await server.admin.send('PUT', url, { username: 'plain', [field]: text })
        note(field, text, put.status)
        if (![200, 400].includes(put.status))
          wrong.push(`${field} ${JSON.stringify(text)}: ${put.status}`)
        if (put.status === 400 && put.body.errors?.[0]?.field !== `/${field}`)
          wrong.push(`${field} ${JSON.stringify(text)}: ${JSON.stringify(put.body)}`)
        if (put.status === 200 && field !== 'email' && put.body[field] !== text)
          wrong.push(`${field} ${JSON.stringify(text)} came back as ${JSON.stringify(put.body)}`)
      }
    expect(wrong).toEqual([])
  })

  it('is no natural key of any kind when it is shaped like a UUID or holds a control character', async () => {
    const wrong: string[] = []
    for (const kind of routedKinds) {
      const method = kind.shape === 'upsert' ? 'PUT' : 'POST'
      const [field = ''] = kind.keyFields
      for (const text of [...uuids, ...controls, '.', '..', '']) {
        const address = await world.collection('acme', kind)
        const answer = await server.admin.send(method, address, {
          ...leastBody(kind),
          [field]: text,
        })
        const named = answer.body.errors?.some(
          (error: { field: string }) => error.field === `/${field}`,
        )
        if (answer.status !== 400 || !named)
          wrong.push(`${kind.kind} ${JSON.stringify(text)}: ${answer.status}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('is no username when it is shaped like a UUID or holds a control character', async () => {
    for (const username of [
      ...uuids,
      ...controls,
      '',
      ' ',
      'a b',
      '\u200b',
      'ad\u200bmin',
      '\u202e',
    ]) {
      const answer = await server.admin.send('POST', `${base}/users`, { username })
      expect(answer.status, JSON.stringify(username)).toBe(400)
      expect(answer.body.errors[0].field).toBe('/username')
    }
  })
})

describe.runIf(backends.length === 2)('both databases', () => {
  it('keep and refuse the same text', () => {
    const [one = [], other = []] = outcomes.values()
    expect(one.length).toBeGreaterThan(5 * naughtyStrings.length)
    expect(other).toEqual(one)
  })
})
