/** How a request over SOAP is refused (SAML Bindings §3.2.3.3). */

import type { FastifyReply } from 'fastify'
import type { XmlRefused } from '#server/xml/index.ts'
import { sendFault } from '#server/xml/messages/soap.ts'
import { NoSoapMessage, type SamlRefused } from '../errors.ts'

/**
 * 403 for an exchange that is refused, 400 for an error before there is a message of SAML. SOAP 1.1 §6.2 has 500 for both, which
 * monitoring counts as a failure of the server, and anyone can send such a request.
 */
export const refuseSoap = (reply: FastifyReply, error: SamlRefused | XmlRefused): FastifyReply =>
  sendFault(reply, error instanceof NoSoapMessage ? 400 : 403, error.message)
