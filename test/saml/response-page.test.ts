/** A page that is rendered once, and whose fields are filled in for each request. */
import { afterAll, describe, expect, it } from 'vitest'
import { createPages } from '#server/http/pages/pages.ts'
import { samlPages } from '#server/saml/page-definitions.ts'
import { bareServer } from '../http/bare-server.ts'

describe('a page with fields', () => {
  const { app } = bareServer()
  const pages = createPages().with(samlPages)
  const branding = { displayName: 'Acme' }
  app.get('/', (request, reply) => {
    const { action, application, locale, ...fields } = request.query as Record<string, string>
    return pages.response(reply, {
      realm: 'acme',
      branding,
      locale,
      formTargets: ['https:'],
      action: String(action),
      application: String(application),
      fields,
    })
  })
  afterAll(() => app.close())

  const shown = async (query: Record<string, string>): Promise<string> => {
    const answer = await app.inject({ url: '/', query })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-security-policy']).toContain("form-action 'self' https:")
    return answer.body
  }
  const form = { action: 'https://sp.example/acs', application: 'Shop', locale: 'en' }

  it('has the values of its own request, escaped', async () => {
    await shown({ ...form, SAMLResponse: 'first', RelayState: 'one' })
    const page = await shown({ ...form, SAMLResponse: 'second', RelayState: '"><script>$&' })
    expect(page).toContain('name="SAMLResponse" value="second"')
    expect(page).toContain('name="RelayState" value="&quot;&gt;&lt;script&gt;$&amp;"')
    expect(page).not.toContain('first')
  })

  it('has the fields, the form, the application and the language of its own request', async () => {
    const before = await shown({ ...form, SAMLResponse: 'x', RelayState: 'one' })
    expect(await shown({ ...form, SAMLResponse: 'x' })).not.toContain('RelayState')
    const other = { ...form, action: 'https://other.example/acs', application: 'Other' }
    const page = await shown({ ...other, SAMLResponse: 'x' })
    expect(page).toContain('action="https://other.example/acs"')
    expect(page).toContain('Other')
    expect(page).not.toContain('Shop')
    const german = await shown({ ...form, locale: 'de', SAMLResponse: 'x', RelayState: 'one' })
    expect(german).toContain('lang="de"')
    expect(await shown({ ...form, SAMLResponse: 'x', RelayState: 'one' })).toBe(before)
  })

  it('is right where its texts have the character that stands for a value', async () => {
    const odd = { ...form, application: 'Sh\u0000op', SAMLResponse: 'value' }
    expect(await shown(odd)).toContain('name="SAMLResponse" value="value"')
  })
})
