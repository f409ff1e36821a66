/** What a page weighs with everything it loads, as a browser would without a cache. */
import { afterAll, describe, expect, it } from 'vitest'
import { examples } from './examples.ts'
import { exampleServer } from './server.ts'

const { app } = exampleServer({
  plain: { displayName: 'Nordwind Energie', primaryColor: '#0a5', backgroundColor: '#eee' },
})
afterAll(() => app.close())

describe('a page', () => {
  it.each(Object.keys(examples))('weighs less than 30 kB with everything: %s', async (example) => {
    const { body } = await app.inject(`/${example}?lang=fr`)
    const paths = [...body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(
      ([, path]) => path ?? '',
    )
    const loaded = await Promise.all(paths.map(async (path) => (await app.inject(path)).rawPayload))
    expect(loaded.length).toBeGreaterThanOrEqual(2)
    const bytes = loaded.reduce((sum, { length }) => sum + length, Buffer.byteLength(body))
    expect(bytes).toBeLessThan(30_000)
  })
})
