/** Every string of every page model is escaped: each is replaced by an attack. */

import { afterAll, describe, expect, it } from 'vitest'
import { bareServer } from '../http/bare-server.ts'
import type { AllPages } from './all-pages.ts'
import { examples } from './examples.ts'
import { exampleServer } from './server.ts'

const attack = `"'><script>alert(1)</script><img src=x onerror=alert(1)><%= 1337 * 1337 %>`

/** Fields that hold names of texts, never user input. */
const ids = new Set([
  'error',
  'errors',
  'notice',
  'kind',
  'purpose',
  'what',
  'reason',
  'addable',
  'state',
])

const attacked = (value: unknown, key = ''): unknown => {
  if (ids.has(key) || typeof value === 'function') return value
  if (typeof value === 'string') return key === 'locale' ? value : `${value}${attack}`
  if (Array.isArray(value)) return value.map((one) => attacked(one, key))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      ['sections', 'ways', 'references'].includes(key) && name === 'id' ? one : attacked(one, name),
    ]),
  )
}

describe('a page', () => {
  const { app: other, pages } = exampleServer({})
  const { app } = bareServer()
  const attackedPages = new Proxy(pages, {
    get: (target, name) => {
      const show: unknown = Reflect.get(target, name)
      return typeof show === 'function'
        ? (reply: unknown, page: unknown) => show(reply, attacked(page))
        : show
    },
  }) satisfies AllPages
  app.get<{ Params: { example: string } }>('/:example', (request, reply) => {
    const show = examples[request.params.example]
    return show
      ? show(attackedPages, reply, {
          realm: 'acme',
          branding: { displayName: 'Acme', welcomeText: 'Hello', customCss: 'a{}' },
          locale: 'en',
          locales: ['en'],
          action: '/form',
          csrf: 'token',
        })
      : reply.callNotFound()
  })
  afterAll(() => Promise.all([app.close(), other.close()]))

  it.each(Object.keys(examples))('escapes every value: %s', async (example) => {
    const { statusCode, body, headers } = await app.inject(`/${example}`)
    expect(statusCode).toBe(200)
    expect(body).toContain('&lt;script&gt;')
    expect(
      body.match(/<script(?! src="\/assets\/)|<img(?! class="logo")|onerror=alert\(1\)>/g),
    ).toBe(null)
    expect(body).not.toContain('1787569')
    expect(headers['content-security-policy']).not.toContain('alert')
  })
})
