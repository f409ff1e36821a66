/** What the API description says about the SAML endpoints. */

import type { EventType } from '#schemas/wire/event-types.ts'

const page = (description: string) => ({
  description,
  content: { 'text/html': { schema: { type: 'string' } } },
})

const pageReplies = {
  200: page(
    'A page that sends the response on as a form, or one that asks with which account to go on.',
  ),
  303: { description: 'To the sign-in page, or on.', type: 'null' },
  400: page('The request is wrong, and it is not known where an answer may go.'),
  403: page('It has expired, began in another browser, or is not allowed.'),
  404: page('There is no such realm.'),
} as const

const text = (description: string) => ({ type: 'string', description })

/** Options of a route that describe it; what is sent is checked by the handlers. */
export const describePage = (
  operationId: string,
  summary: string,
  { form, required = [] }: { form?: Readonly<Record<string, string>>; required?: string[] } = {},
) => ({
  schema: { operationId, summary, tags: ['saml'], response: pageReplies },
  config: {
    events: ['SAML_SSO'] satisfies EventType[],
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
      404: page('There is no such realm.'),
    },
  },
})
