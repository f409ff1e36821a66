/** The AuthnRequest (SAML Core §3.4.1), and how signed messages travel in the browser (SAML Bindings §3.4, §3.5). */

import { bindingUrns, nameIdFormats } from '#schemas/drivers/saml.ts'
import { withQuery } from '#server/http/query.ts'
import {
  element,
  instant,
  type MessageParameter,
  type SigningKey,
  signElement,
  type Template,
  writeElement,
  writeQuery,
} from '#server/xml/index.ts'
import type { Departure } from '../../protocol.ts'
import type { SamlSettings } from './settings.ts'

/** What a scheme adds to a request. */
export interface RequestExtras {
  readonly extensions?: readonly Template[] | undefined
  readonly attributeConsumingServiceIndex?: number | undefined
  /** The scheme wants a fresh sign-in every time. */
  readonly isForced?: boolean | undefined
  /** The scheme forbids a NameIDPolicy: it is left out where the document names no format. */
  readonly withoutNameIdPolicy?: boolean | undefined
  readonly contextClasses: readonly string[]
  readonly contextComparison: 'exact' | 'minimum' | 'maximum' | 'better'
}

export interface RequestInput extends RequestExtras {
  readonly id: string
  readonly now: number
  readonly destination: string
  readonly acsUrl: string
  readonly spEntityId: string
  readonly settings: Pick<SamlSettings, 'responseBinding' | 'nameIdFormat'>
  /** The NameID is the subject of links: then its format matters. */
  readonly asksForFormat: boolean
  readonly forceAuthn: boolean
}

const policyOf = (input: RequestInput): Template | undefined => {
  const { settings, asksForFormat, withoutNameIdPolicy } = input
  const format = settings.nameIdFormat ?? (asksForFormat ? 'persistent' : undefined)
  if (format === undefined && withoutNameIdPolicy) return undefined
  return element('samlp:NameIDPolicy', {
    AllowCreate: 'true',
    Format: format === undefined ? undefined : nameIdFormats[format],
  })
}

const contextOf = ({ contextClasses, contextComparison }: RequestInput): Template | undefined =>
  contextClasses.length === 0
    ? undefined
    : element(
        'samlp:RequestedAuthnContext',
        { Comparison: contextComparison },
        contextClasses.map((one) => element('saml:AuthnContextClassRef', {}, one)),
      )

export const authnRequest = (input: RequestInput): Template => {
  const { extensions = [], attributeConsumingServiceIndex: index } = input
  return element(
    'samlp:AuthnRequest',
    {
      ID: input.id,
      Version: '2.0',
      IssueInstant: instant(input.now),
      Destination: input.destination,
      AssertionConsumerServiceURL: input.acsUrl,
      ProtocolBinding: bindingUrns[input.settings.responseBinding],
      ForceAuthn: input.forceAuthn ? 'true' : undefined,
      AttributeConsumingServiceIndex: index === undefined ? undefined : String(index),
    },
    [
      element('saml:Issuer', {}, input.spEntityId),
      extensions.length === 0 ? undefined : element('samlp:Extensions', {}, extensions),
      policyOf(input),
      contextOf(input),
    ],
  )
}

export interface Sent {
  readonly parameter: MessageParameter
  readonly message: Template
  readonly url: string
  readonly binding: 'HTTP-Redirect' | 'HTTP-POST'
  readonly relayState?: string | undefined
}

/** Signed as the binding wants it: over the query, or in the message. */
export const carry = async (sent: Sent, key: SigningKey): Promise<Departure> => {
  const { parameter, message, url, binding, relayState } = sent
  if (binding === 'HTTP-Redirect') {
    const query = await writeQuery({ parameter, xml: writeElement(message), relayState }, key)
    return { kind: 'redirect', url: withQuery(url, query) }
  }
  const xml = writeElement(await signElement(message, key))
  return {
    kind: 'form',
    action: url,
    fields: {
      [parameter]: Buffer.from(xml).toString('base64'),
      ...(relayState === undefined ? {} : { RelayState: relayState }),
    },
  }
}
