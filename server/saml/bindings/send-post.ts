/** A message as a form that the browser sends (SAML Bindings §3.5.4): by script, or by a button. */

import type { FastifyReply } from 'fastify'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import { formTargets } from '#server/sign-in/waiting/form-targets.ts'
import type { ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import type { MessageParameter } from '#server/xml/index.ts'
import type { SamlPages } from '../page-definitions.ts'
import type { ServiceProvider } from '../service-provider.ts'

export interface Posted {
  /** SAMLResponse unless told. */
  readonly parameter?: MessageParameter
  readonly url: string
  readonly xml: string
  readonly relayState?: string | undefined
}

export const sendPost = (
  pages: SamlPages,
  { request, reply, issuer }: ProtocolVisit,
  provider: ServiceProvider,
  { parameter = 'SAMLResponse', url, xml, relayState }: Posted,
): FastifyReply =>
  (parameter === 'SAMLRequest' ? pages.framedRequest : pages.response)(reply, {
    ...pageContext(pages, request, issuer.name, issuer.settings),
    formTargets: formTargets(url),
    action: url,
    fields: {
      [parameter]: Buffer.from(xml).toString('base64'),
      ...(relayState === undefined ? {} : { RelayState: relayState }),
    },
    application: provider.displayName,
  })
