/** Messages of SAML as a browser carries them, and what the judges say about those that we wrote. */

import { verify } from 'node:crypto'
import type { Request } from 'playwright-core'
import { expect } from 'vitest'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import { readDeflated } from '#server/xml/index.ts'
import type { Judges } from './judges.ts'

export interface CarriedMessage {
  readonly parameter: 'SAMLRequest' | 'SAMLResponse'
  readonly binding: 'HTTP-POST' | 'HTTP-Redirect'
  readonly url: string
  readonly xml: string
  readonly relayState: string | null
}

const parametersOf = (request: Request): URLSearchParams | undefined => {
  const { searchParams } = new URL(request.url())
  const parameters =
    request.method() === 'POST' ? new URLSearchParams(request.postData() ?? '') : searchParams
  return parameters.has('SAMLRequest') || parameters.has('SAMLResponse') ? parameters : undefined
}

export const messageIn = (request: Request): CarriedMessage | undefined => {
  const parameters = parametersOf(request)
  if (!parameters) return undefined
  const parameter = parameters.has('SAMLRequest') ? 'SAMLRequest' : 'SAMLResponse'
  const encoded = parameters.get(parameter) ?? ''
  const binding = request.method() === 'POST' ? 'HTTP-POST' : 'HTTP-Redirect'
  return {
    parameter,
    binding,
    url: request.url(),
    xml:
      binding === 'HTTP-POST'
        ? Buffer.from(encoded, 'base64').toString()
        : readDeflated(encoded, 1_000_000),
    relayState: parameters.get('RelayState'),
  }
}

/** The signature of a redirect is over the query as it was sent (SAML Bindings §3.4.4.1). */
const isQuerySigned = (url: string, certificates: readonly string[]): boolean => {
  const query = url.slice(url.indexOf('?') + 1)
  const cut = query.indexOf('&Signature=')
  const signature = decodeURIComponent(query.slice(cut + '&Signature='.length).split('&')[0] ?? '')
  return certificates.some((text) => {
    const key = readCertificate(text)?.publicKey
    const data = Buffer.from(query.slice(0, cut))
    return key && verify('sha256', data, key, Buffer.from(signature, 'base64'))
  })
}

/** Without the prefix, which each software chooses. */
export const rootOf = (xml: string): string =>
  /^(?:<\?xml[^>]*>\s*)?<(?:\w+:)?(\w+)/.exec(xml)?.[1] ?? ''

export const statusCodesOf = (xml: string): string[] =>
  [...xml.matchAll(/StatusCode [^>]*Value="urn:oasis:names:tc:SAML:2.0:status:(\w+)"/g)].map(
    ([, code]) => code ?? '',
  )

/** Of a message that we wrote: the schemas allow it, and it is signed as its binding wants it. */
export const judge = (
  judges: Judges,
  message: CarriedMessage,
  certificates: readonly string[],
): void => {
  const signed = judges.signedIn(message.xml, certificates)
  if (message.binding === 'HTTP-Redirect') {
    expect([message.url, isQuerySigned(message.url, certificates)]).toEqual([message.url, true])
    expect(signed).toEqual([])
    return
  }
  const hasAssertion = message.xml.includes('<saml:Assertion ')
  expect(signed).toEqual([rootOf(message.xml), ...(hasAssertion ? ['Assertion'] : [])])
}
