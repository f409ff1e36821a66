/** LogoutRequests and LogoutResponses of ours (SAML Core §3.7), and how they are sent in the browser. */

import { type NameIdFormat, nameIdFormatOf } from '#schemas/drivers/saml.ts'
import { withQuery } from '#server/http/query.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { SamlSessionRow } from '#server/storage/tables/saml-tables.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import {
  element,
  instant,
  type MessageParameter,
  newMessageId,
  signElement,
  type Template,
  writeElement,
  writeQuery,
} from '#server/xml/index.ts'
import { issuerElement } from '../assertion/assertion.ts'
import { nameIdElement } from '../assertion/name-id.ts'
import { type SignerFor, statusElement } from '../assertion/response.ts'
import { freshMs } from '../bindings/message-header.ts'
import type { SamlStatusError } from '../errors.ts'
import { optionsOf, type ServiceProvider } from '../service-provider.ts'

/** A message as a browser carries it: an address, or a form. */
export type Carried =
  | { readonly binding: 'HTTP-Redirect'; readonly url: string }
  | { readonly binding: 'HTTP-POST'; readonly url: string; readonly xml: string }

/** Not before the last assertion about the session has expired, so that it opens no other one there (SAML Core §3.7.3.2). */
const lifetimeMs = (issuer: Issuer, provider: ServiceProvider): number =>
  Math.max(freshMs, optionsOf(issuer, provider).assertionLifetimeSeconds * 1000)

type Session = Pick<SamlSessionRow, 'name_id' | 'name_id_format' | 'session_index'>

export const createLogoutMessages = ({
  signerFor,
  clock,
}: {
  readonly signerFor: SignerFor
  readonly clock: Clock
}) => {
  return {
    request: (
      issuer: Issuer,
      provider: ServiceProvider,
      { name_id, name_id_format, session_index }: Session,
      { id, destination }: { readonly id: string; readonly destination: string },
    ): Template => {
      const now = clock.now()
      const format: NameIdFormat = nameIdFormatOf(name_id_format) ?? 'unspecified'
      return element(
        'samlp:LogoutRequest',
        {
          ID: id,
          Version: '2.0',
          IssueInstant: instant(now),
          Destination: destination,
          NotOnOrAfter: instant(now + lifetimeMs(issuer, provider)),
        },
        [
          issuerElement(issuer),
          nameIdElement(issuer, provider, { format, value: name_id }),
          element('samlp:SessionIndex', {}, session_index),
        ],
      )
    },

    response: (
      issuer: Issuer,
      answered: { readonly id: string; readonly destination?: string | undefined },
      outcome: SamlStatusError | undefined,
    ): Template =>
      element(
        'samlp:LogoutResponse',
        {
          ID: newMessageId(),
          InResponseTo: answered.id,
          Version: '2.0',
          IssueInstant: instant(clock.now()),
          Destination: answered.destination,
        },
        [issuerElement(issuer), statusElement(outcome)],
      ),

    signed: async (
      issuer: Issuer,
      provider: ServiceProvider,
      message: Template,
    ): Promise<Template> => signElement(message, await signerFor(issuer, provider)),

    /** Signed as the binding wants it: in the query, or in the message. */
    carry: async (
      issuer: Issuer,
      provider: ServiceProvider,
      {
        url,
        message,
        parameter,
        relayState,
      }: {
        readonly url: string
        readonly message: Template
        readonly parameter: MessageParameter
        readonly relayState?: string | undefined
      },
    ): Promise<Carried> => {
      const key = await signerFor(issuer, provider)
      if (provider.doc.singleLogoutServiceBinding === 'HTTP-POST')
        return { binding: 'HTTP-POST', url, xml: writeElement(await signElement(message, key)) }
      const query = await writeQuery({ parameter, xml: writeElement(message), relayState }, key)
      return { binding: 'HTTP-Redirect', url: withQuery(url, query) }
    },
  }
}

export type LogoutMessages = ReturnType<typeof createLogoutMessages>
