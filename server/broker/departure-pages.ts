/** Pages on the way to an identity provider: by a form, or where no redirect can lead there. */

import type { FastifyReply } from 'fastify'
import type { PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { PagesOf } from '#server/http/pages/pages.ts'
import type { Departure } from './protocol.ts'

/** The browser goes on by itself. */
interface DeparturePage extends PageContext {
  readonly provider: string
  readonly url: string
}

/** The form that takes the browser to a provider. */
interface DepartureFormPage extends PageContext {
  readonly application: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

export const departurePages = {
  departure: definePage<DeparturePage>('departure', { once: true }),
  departureForm: definePage<DepartureFormPage>('form-post', { script: () => 'submit', once: true }),
}

export type DeparturePages = PagesOf<typeof departurePages>

/**
 * `afterForm`: a form of ours led here, and browsers hold redirects after a form to its `form-action` too (CSP Level 3 §6.4.1), so
 * that a page leads on.
 */
export const sendDeparture = (
  pages: DeparturePages,
  reply: FastifyReply,
  departure: Departure,
  at: { readonly context: PageContext; readonly provider: string; readonly afterForm: boolean },
): FastifyReply => {
  const { context, provider, afterForm } = at
  if (departure.kind === 'form') {
    const { action, fields } = departure
    const formTargets = [new URL(action).origin]
    return pages.departureForm(reply, {
      ...context,
      formTargets,
      application: provider,
      action,
      fields,
    })
  }
  const { url } = departure
  return afterForm
    ? pages.departure(reply, { ...context, provider, url })
    : reply.header('cache-control', 'no-store').redirect(url, 303)
}
