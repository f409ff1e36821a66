/**
 * `/`, `/admin` and `/realms/{realm}` in a browser: landing pages with links. Programs, which do not accept HTML, get 404, or
 * at a realm with `keycloakPaths` what Keycloak tells of it. No page lists realms: their names are not public.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import { wantsPage } from '#server/http/wants-page.ts'
import { allowEverybody } from '#server/oidc/cors.ts'
import { installPageScope, type PageScopeParts } from '#server/sign-in/pages/page-scope.ts'
import { pageContext, type RealmRoute } from '#server/sign-in/pages/visit.ts'
import type { PublishedRealm } from '#server/tokens/keycloak/realm.ts'
import type { LandingPage, LandingPages } from './landing-page.ts'

export interface LandingParts extends PageScopeParts {
  readonly pages: LandingPages
  readonly master: string
  readonly publishedRealm: (realm: string) => Promise<PublishedRealm | undefined>
}

/** What the pages of the server itself are headed with; they belong to no realm. */
const product = 'iamctl'

const docs = { id: 'docs', url: '/interactive-docs.html' } as const
const openapi = { id: 'openapi', url: '/v3/api-docs' } as const

export const landingRoutes =
  (parts: LandingParts) =>
  async (app: FastifyInstance): Promise<void> => {
    const { pages, settingsOf, master, publishedRealm } = parts
    await installPageScope(app, parts)

    type Content = Pick<LandingPage, 'what' | 'ways' | 'references'>

    const ofServer = (content: Content) => async (request: FastifyRequest, reply: FastifyReply) => {
      reply.header('vary', 'accept')
      if (!wantsPage(request)) return reply.callNotFound()
      return pages.landing(reply, { ...pageContext(pages, request, product, null), ...content })
    }

    app.get(
      '/',
      ofServer({
        what: 'server',
        ways: [],
        references: [{ id: 'admin', url: '/admin' }, docs],
      }),
    )
    app.get(
      '/admin',
      ofServer({
        what: 'admin',
        ways: [{ id: 'administrator', url: `/realms/${master}/account` }],
        references: [docs, openapi],
      }),
    )
    app.get<RealmRoute>('/realms/:realm', async (request, reply) => {
      reply.header('vary', 'accept')
      const { realm } = request.params
      if (!wantsPage(request)) {
        const published = await publishedRealm(realm)
        if (!published) return reply.callNotFound()
        allowEverybody(reply)
        return reply.send(published)
      }
      const settings = await settingsOf(realm)
      if (!settings) throw new Problem('not-found', 'There is no such realm.')
      const base = `/realms/${realm}`
      return pages.landing(reply, {
        ...pageContext(pages, request, realm, settings),
        what: 'realm',
        ways: [
          { id: 'account', url: `${base}/account` },
          { id: 'login', url: `${base}/login` },
        ],
        references: [{ id: 'discovery', url: `${base}/.well-known/openid-configuration` }, docs],
      })
    })
  }
