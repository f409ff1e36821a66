/** The page of an address that nothing is at, in the look of the realm that it names. Programs get a problem document. */

import type { ShowUnrouted } from '#server/http/errors.ts'
import { wantsPage } from '#server/http/wants-page.ts'
import type { PageScopeParts } from './page-scope.ts'
import { pageContext } from './visit.ts'

const realmIn = (url: string): string => /^\/realms\/([\w.-]+)\//.exec(url)?.[1] ?? ''

export const createUnroutedPage =
  ({ pages, settingsOf }: Pick<PageScopeParts, 'pages' | 'settingsOf'>): ShowUnrouted =>
  (request, reply) => {
    reply.header('vary', 'accept')
    if (!wantsPage(request) || !['GET', 'HEAD'].includes(request.method)) return undefined
    const realm = realmIn(request.url)
    const settings = realm === '' ? Promise.resolve(null) : settingsOf(realm).catch(() => null)
    settings
      .then((known) =>
        pages.error(reply, {
          ...pageContext(pages, request, realm, known),
          status: 404,
          error: 'not-found',
          requestId: request.id,
        }),
      )
      // Nothing waits for this promise: its rejection would end the process.
      .catch((error: unknown) => reply.send(error))
    return reply
  }
