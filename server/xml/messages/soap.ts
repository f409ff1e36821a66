/** SOAP 1.1 envelopes (SAML Bindings §3.2), as they are received, written and refused. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MESSAGE_LIMIT } from '../parse.ts'
import { element, type Template, writeElement } from '../write.ts'

export const soapType = 'text/xml; charset=utf-8'

/** The header that every SAML requester sends (SAML Bindings §3.2.3.1). */
export const soapAction = 'http://www.oasis-open.org/committees/security'

const xmlType = /^(?:text|application)\/(?:soap\+)?xml\b/

/** The body of a request in XML is its text: only `server/xml` reads it. */
export const takeSoap = (app: FastifyInstance): void => {
  app.addContentTypeParser(
    xmlType,
    { parseAs: 'string', bodyLimit: MESSAGE_LIMIT },
    (_request, body, done) => done(null, String(body)),
  )
}

/** Undefined where the request came as a form. */
export const envelopeOf = ({ body }: FastifyRequest): string | undefined =>
  typeof body === 'string' ? body : undefined

export const envelope = (message: Template): string =>
  writeElement(element('soap:Envelope', {}, [element('soap:Body', {}, [message])]))

export const sendSoap = (reply: FastifyReply, message: Template): FastifyReply =>
  reply.type(soapType).send(envelope(message))

/** An exchange that is refused is answered 403 (SAML Bindings §3.2.3.3); the fault tells the operator of the sender why. */
export const sendFault = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  sendSoap(
    reply.code(status),
    element('soap:Fault', {}, [
      // SOAP 1.1 §4.4: these two have no namespace.
      element('faultcode', {}, 'soap:Client'),
      element('faultstring', {}, text),
    ]),
  )
