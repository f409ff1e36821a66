/** The API description of the SAML endpoints. */

import type { EventType } from '#schemas/wire/event-types.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'

const soapReply = (description: string) => ({
  description,
  content: { 'text/xml': { schema: { type: 'string' } } },
})

const pageReplies = {
  200: pageReply(
    'A page that sends the response on as a form, or one that asks with which account to go on.',
  ),
  303: { description: 'To the sign-in page, or on.', type: 'null' },
  400: pageReply('The request is wrong, and it is not known where an answer may go.'),
  403: pageReply('It has expired, began in another browser, or is not allowed.'),
  404: pageReply('There is no such realm.'),
} as const

const text = (description: string) => ({ type: 'string', description })

/** Options of a route that describe it; what is sent is checked by the handlers. */
export const describePage = (
  operationId: string,
  summary: string,
  {
    form,
    required = [],
    events = ['SAML_SSO'],
  }: {
    form?: Readonly<Record<string, string>>
    required?: string[]
    events?: readonly EventType[]
  } = {},
) => ({
  schema: { operationId, summary, tags: ['saml'], response: pageReplies },
  config: {
    events: [...events],
    ...(form
      ? {
          body: {
            type: 'object',
            properties: Object.fromEntries(
              Object.entries(form).map(([name, meaning]) => [name, text(meaning)]),
            ),
            required,
          },
        }
      : {}),
  },
})

/** Options of a route that takes a SOAP envelope. */
export const describeSoap = (operationId: string, summary: string) => ({
  schema: {
    operationId,
    summary,
    tags: ['saml'],
    response: {
      200: soapReply('An envelope with the answer, signed.'),
      400: soapReply('A fault: the request is no envelope with the message that this path takes.'),
      403: soapReply('A fault: the sender is not known, or the message cannot be trusted.'),
      404: pageReply('There is no such realm.'),
    },
  },
  config: { events: ['SAML_SSO'] satisfies EventType[] },
})

export const describeStatus = (operationId: string, summary: string) => ({
  schema: {
    operationId,
    summary,
    tags: ['saml'],
    response: {
      200: {
        description: 'PENDING while some have time to answer.',
        type: 'object',
        properties: { status: { type: 'string', enum: ['PENDING', 'DONE'] } },
        required: ['status'],
      },
      400: pageReply('The logout is over.'),
      404: pageReply('There is no such realm.'),
    },
  },
})

export const describeMetadata = (operationId: string) => ({
  schema: {
    operationId,
    summary: 'The metadata of the SAML identity provider, signed',
    tags: ['saml'],
    response: {
      200: {
        description: 'An EntityDescriptor.',
        content: { 'application/samlmetadata+xml': { schema: { type: 'string' } } },
      },
      304: { description: 'It is as it was.', type: 'null' },
      404: pageReply('There is no such realm.'),
    },
  },
})
