/** How a response gets to its assertion consumer service: as a form, or as an artifact that stands for it. */

import type { FastifyReply } from 'fastify'
import { withQuery } from '#server/http/query.ts'
import type { ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { type Template, writeElement } from '#server/xml/index.ts'
import { sendPost } from '../bindings/send-post.ts'
import type { SamlPages } from '../page-definitions.ts'
import type { Acs, ServiceProvider } from '../service-provider.ts'
import type { Artifacts } from './artifacts.ts'

export interface Delivered {
  readonly acs: Pick<Acs, 'url' | 'binding'>
  readonly relayState?: string | undefined
}

export interface Delivery {
  /** To be committed before it is sent. */
  readonly statements: readonly Statement[]
  send(visit: ProtocolVisit): FastifyReply
}

export const createDeliver =
  ({ pages, artifacts }: { readonly pages: SamlPages; readonly artifacts: Artifacts }) =>
  (
    issuer: Issuer,
    provider: ServiceProvider,
    { acs: { url, binding }, relayState }: Delivered,
    response: Template,
  ): Delivery => {
    if (binding === 'HTTP-POST')
      return {
        statements: [],
        send: (visit) =>
          sendPost(pages, visit, provider, { url, xml: writeElement(response), relayState }),
      }
    const { artifact, statements } = artifacts.create(issuer, provider, response)
    const query = [
      `SAMLart=${encodeURIComponent(artifact)}`,
      ...(relayState === undefined ? [] : [`RelayState=${encodeURIComponent(relayState)}`]),
    ].join('&')
    return { statements, send: ({ reply }) => reply.redirect(withQuery(url, query), 303) }
  }

export type Deliver = ReturnType<typeof createDeliver>
