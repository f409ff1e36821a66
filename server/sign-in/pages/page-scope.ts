/** Shared by the routes of pages: form bodies, and errors as pages of the realm. */

import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { MapError } from '#server/http/errors.ts'
import { installPageErrors } from '#server/http/pages/page-errors.ts'
import type { Pages } from '#server/http/pages/pages.ts'
import { FORM_LIMIT } from './form.ts'
import { tellOutage } from './outage.ts'
import { pageContext, type RealmRoute } from './visit.ts'

export interface PageScopeParts {
  /** Null when there is no such realm. */
  readonly settingsOf: (realm: string) => Promise<SettingsDoc | null>
  readonly pages: Pages
  readonly mapError?: MapError | undefined
}

export const installPageScope = async (
  app: FastifyInstance,
  { pages, settingsOf, mapError }: PageScopeParts,
): Promise<void> => {
  installPageErrors(app, {
    pages,
    mapError,
    tell: tellOutage,
    contextOf: async (request) => {
      const { realm = '' } = request.params as Partial<RealmRoute['Params']>
      return pageContext(pages, request, realm, await settingsOf(realm).catch(() => null))
    },
  })
  app.removeAllContentTypeParsers()
  await app.register(formbody, { bodyLimit: FORM_LIMIT })
}
