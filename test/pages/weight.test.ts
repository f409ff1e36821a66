import { afterAll, describe, expect, it } from 'vitest'
import { examples } from './examples.ts'
import { weighPage } from './page-weight.ts'
import { exampleServer } from './server.ts'

const { app } = exampleServer({
  plain: { displayName: 'Nordwind Energie', primaryColor: '#0a5', backgroundColor: '#eee' },
})
afterAll(() => app.close())

describe('a page', () => {
  it.each(Object.keys(examples))('weighs less than 30 kB with everything: %s', async (example) => {
    const { css, total } = await weighPage(app, `/${example}?lang=fr`)
    expect(css).toBeGreaterThan(5000)
    expect(total).toBeLessThan(30_000)
  })

  it('brings a script of its own only where it cannot do without, and one for forms with a form', async () => {
    const scripted: string[] = []
    for (const example of Object.keys(examples)) {
      const { body } = await app.inject(`/${example}`)
      const scripts = [...body.matchAll(/<script src="\/assets\/([a-z]+)-/g)].map(
        ([, name]) => name,
      )
      if (scripts.some((name) => name !== 'forms')) scripted.push(example)
      const isSent = body.includes('name="_csrf"')
      expect(scripts.includes('forms'), example).toBe(isSent)
    }
    expect(scripted).toEqual([
      'login',
      'identify',
      'logout',
      'webauthn',
      'passkey',
      'push',
      'qr',
      'register-passkey',
      'recovery-codes',
    ])
  })
})
