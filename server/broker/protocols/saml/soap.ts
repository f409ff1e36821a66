/** A message to a service of the provider from server to server (SAML Bindings §3.2), and what it answers. */

import type { ClientIdentity, Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { MESSAGE_LIMIT, readBytes, type Template } from '#server/xml/index.ts'
import { envelope, soapAction, soapType } from '#server/xml/messages/soap.ts'
import { UpstreamRefused } from '../../protocol.ts'
import { gated } from './refuse.ts'

/** A Response with encrypted parts inside an envelope. */
export const longestEnvelope = 4 * MESSAGE_LIMIT

export interface SoapRequest {
  /** What it is called in an error. */
  readonly service: string
  readonly url: string
  /** Signed. */
  readonly message: Template
  /** For mutual TLS. */
  readonly client?: ClientIdentity | undefined
  readonly signal?: AbortSignal | undefined
}

export const sendSoapRequest = async (
  { outgoing }: { readonly outgoing: Pick<Outgoing, 'request'> },
  { service, url, message, client, signal }: SoapRequest,
): Promise<string> => {
  try {
    const { status, body } = await outgoing.request({
      url,
      method: 'POST',
      headers: { 'content-type': soapType, soapaction: `"${soapAction}"` },
      body: envelope(message),
      maxBytes: longestEnvelope,
      client,
      signal,
    })
    if (status !== 200) throw new UpstreamRefused('unavailable', `the ${service} answers ${status}`)
    return gated(() => readBytes(Buffer.from(body), longestEnvelope))
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error
    throw new UpstreamRefused('unavailable', `the ${service} gave no answer: ${error.message}`)
  }
}
