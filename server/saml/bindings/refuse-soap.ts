/** How a request over SOAP is refused (SAML Bindings §3.2.3.3). */

import type { FastifyReply } from 'fastify'
import type { XmlRefused } from '#server/xml/index.ts'
import { sendFault } from '#server/xml/messages/soap.ts'
import { NoSoapMessage, type SamlRefused } from '../errors.ts'

/** 403 for an exchange that is refused, 500 for an error before there is a message of SAML. */
export const refuseSoap = (reply: FastifyReply, error: SamlRefused | XmlRefused): FastifyReply =>
  sendFault(reply, error instanceof NoSoapMessage ? 500 : 403, error.message)
