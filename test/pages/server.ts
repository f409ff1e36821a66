/** Shows every example at `/<example>`, with what the query says: `brand`, `impersonated`, and `lang` as everywhere. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import formbody from '@fastify/formbody'
import { createCookies } from '#server/http/cookies/cookies.ts'
import type { Branding } from '#server/http/pages/branding.ts'
import { createPages, findTemplates } from '#server/http/pages/pages.ts'
import { bareServer } from '../http/bare-server.ts'
import { allPages } from './all-pages.ts'
import { examples, impersonation } from './examples.ts'

/** Stands for the languages that are written from right to left; all but its name is English. */
export const rtlLocale = 'he'

const withRtl = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'pages-'))
  cpSync(findTemplates(), folder, { recursive: true })
  const texts = { dir: 'rtl', language: 'עִבְרִית' }
  writeFileSync(join(folder, 'messages', `${rtlLocale}.json`), JSON.stringify(texts))
  return folder
}

export const exampleServer = (brandings: Readonly<Record<string, Branding>>) => {
  const templatesDir = withRtl()
  const { app } = bareServer()
  const cookies = createCookies('http://127.0.0.1')
  const pages = createPages({ templatesDir, cookies }).with(allPages)
  const posted: unknown[] = []
  pages.routes(app, async (realm) => brandings[realm] ?? null)
  app.register(formbody)
  app.get('/status', async () => ({ status: 'PENDING' }))
  // A page that leads on by itself stays on the screen: a browser shows no answer of 204 (RFC 9110 §15.3.5).
  app.get('/away', (_request, reply) => reply.code(204).send())
  app.get<{
    Params: { example: string }
    Querystring: { brand?: string; impersonated?: string }
  }>('/:example', (request, reply) => {
    const { brand = 'plain', impersonated } = request.query
    const { [request.params.example]: show } = examples
    if (!show) return reply.callNotFound()
    return show(pages, reply, {
      realm: brand,
      branding: brandings[brand],
      ...pages.language(request),
      action: '/form',
      csrf: 'token',
      impersonation: impersonated === undefined ? undefined : impersonation,
    })
  })
  app.post('/form', (request, reply) => {
    posted.push(request.body)
    return pages.done(reply, { realm: 'plain', what: 'registered' })
  })
  app.addHook('onClose', async () => rmSync(templatesDir, { recursive: true }))
  return { app, pages, posted }
}
