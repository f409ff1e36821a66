/** A message as a form that the browser sends (SAML Bindings §3.5.4): by script, or by a button. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { SamlPages } from '../page-definitions.ts'
import type { ServiceProvider } from '../service-provider.ts'

export interface Posted {
  readonly url: string
  readonly xml: string
  readonly relayState: string | undefined
}

/** Browsers hold every redirect that follows a form to `form-action`: all of its scheme, or sign-in would end nowhere. */
export const formTargets = (url: string): readonly string[] =>
  url.toLowerCase().startsWith('http:') ? ['http:', 'https:'] : ['https:']

export const sendPost = (
  pages: SamlPages,
  { request, reply, issuer }: { request: FastifyRequest; reply: FastifyReply; issuer: Issuer },
  provider: ServiceProvider,
  { url, xml, relayState }: Posted,
): FastifyReply =>
  pages.response(reply, {
    ...pageContext(pages, request, issuer.name, issuer.settings),
    formTargets: formTargets(url),
    action: url,
    fields: {
      SAMLResponse: Buffer.from(xml).toString('base64'),
      ...(relayState === undefined ? {} : { RelayState: relayState }),
    },
    application: provider.displayName,
  })
