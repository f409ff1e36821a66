/** The API description of the way to an identity provider and back. */

import type { EventType } from '#schemas/wire/event-types.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'

const refusals = {
  400: pageReply('The answer of the identity provider proves nothing.'),
  403: pageReply('The person or the provider declined, or nothing waits in this browser.'),
  404: pageReply('There is no such realm, or no such identity provider for a sign-in.'),
  502: pageReply('The identity provider cannot be reached.'),
}

const events: readonly EventType[] = [
  'IDENTITY_PROVIDER_LOGIN',
  'IDENTITY_PROVIDER_FIRST_LOGIN',
  'IDENTITY_PROVIDER_LINK',
  'UPDATE_EMAIL',
  'LOGIN_SUCCESS',
  'LOGIN_FAILURE',
]

export const describeDeparture = {
  schema: {
    operationId: 'begin-broker-sign-in',
    summary: 'Sends the browser to an identity provider',
    tags: ['sign-in'],
    response: {
      200: pageReply('A form that takes the browser there.'),
      303: { description: 'To the identity provider.', type: 'null' },
      ...refusals,
    },
  },
  config: { events },
}

export const describeArrival = (method: 'GET' | 'POST') => ({
  schema: {
    operationId: method === 'GET' ? 'finish-broker-sign-in' : 'receive-broker-answer',
    summary:
      method === 'GET'
        ? 'The answer of an identity provider: ends in a session, or leads to the next step'
        : 'The answer of an identity provider as a form; the browser fetches it with its cookies',
    tags: ['sign-in'],
    response: {
      303: { description: 'To what waits for the sign-in, or to its next step.', type: 'null' },
      ...refusals,
    },
  },
  config: { events },
})
