/** The API description of sign-in and sign-out. */

import type { RouteShorthandOptions } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'
import type { Entry } from '../flow/entries.ts'

const toSignIn = { description: "To the realm's sign-in page, with the cookies set.", type: 'null' }
const csrf = { type: 'string', description: 'The token of the form, or of the XSRF-TOKEN cookie.' }

const route = (
  operationId: string,
  summary: string,
  response: Readonly<Record<number, object>>,
): Pick<RouteShorthandOptions, 'schema' | 'config'> => ({
  schema: { operationId, summary, tags: ['sign-in'], response },
})

const form = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  events: readonly EventType[],
) => ({ config: { body: { type: 'object', properties, required }, events } })

const names = {
  login: 'The sign-in page; sets the CSRF cookie',
  register: 'The page where users register themselves',
  forgot: 'The page for a forgotten password',
} as const

const operation = { login: 'sign-in', register: 'register', forgot: 'forgot-password' } as const

export const describeShow = ({ name }: Pick<Entry, 'name'>) =>
  route(`show-${name}`, names[name], {
    200: pageReply('The form, or the page of a signed-in user.'),
    404: pageReply('There is no such realm, or it does not offer this.'),
  })

const answers = {
  303: toSignIn,
  400: pageReply('A field is missing or wrong.'),
  401: pageReply('The credentials are wrong, or the account cannot sign in now.'),
  403: pageReply('The form has expired, or the realm is disabled.'),
  404: pageReply('There is no such realm, or it does not offer this.'),
  503: pageReply('Too many sign in at this moment.'),
}

const events: readonly EventType[] = [
  'LOGIN_SUCCESS',
  'LOGIN_FAILURE',
  'USER_LOCKED',
  'MFA_CHALLENGE',
]

/** What is sent depends on the flow; these are the fields of the first page that comes with a realm. */
export const describeSignIn = ({ name }: Pick<Entry, 'name'>) => ({
  ...route(
    operation[name],
    'The first step: ends in a session, or leads to the next step',
    answers,
  ),
  ...form(
    {
      username: { type: 'string' },
      password: { type: 'string', format: 'password' },
      rememberMe: { type: 'string', enum: ['true'] },
      _csrf: csrf,
    },
    ['username', '_csrf'],
    events,
  ),
})

export const describeAsk = route('show-sign-in-step', 'What a sign-in asks now', {
  200: pageReply('The form of the step.'),
  303: { description: 'On, where the browser has signed in meanwhile.', type: 'null' },
  403: pageReply('The sign-in has ended, or began in another browser.'),
  404: pageReply('There is no such realm.'),
})

export const describeStatus = route(
  'read-sign-in-status',
  'Whether what a sign-in waits for has happened elsewhere',
  {
    200: {
      type: 'object',
      properties: {
        status: { type: 'string', enum: ['PENDING', 'APPROVED', 'DENIED', 'EXPIRED'] },
      },
      required: ['status'],
      additionalProperties: false,
    },
    404: pageReply('There is no such realm.'),
  },
)

export const describeAnswer = {
  ...route(
    'answer-sign-in-step',
    'Answers the step; ends in a session, or leads to the next',
    answers,
  ),
  ...form(
    {
      step: { type: 'string', enum: ['restart', 'other', 'resend', 'cancel'] },
      method: { type: 'string' },
      code: { type: 'string' },
      check: { type: 'string', enum: ['true'] },
      response: { type: 'string' },
      _csrf: csrf,
    },
    ['_csrf'],
    [...events, 'MFA_SUCCESS', 'MFA_FAILURE', 'UPDATE_CREDENTIAL'],
  ),
}

const gone = {
  403: pageReply('It is for another account, or its organization takes no members now.'),
  404: pageReply('There is no such realm.'),
  410: pageReply('It was used, revoked or replaced, or has expired.'),
}

export const describeInvitation = route(
  'show-invitation',
  'Where the link of an invitation leads to; it changes nothing',
  {
    200: pageReply('Who invites, and how to accept.'),
    303: { description: 'Without the token, which is kept in a cookie.', type: 'null' },
    ...gone,
  },
)

export const describeAcceptInvitation = {
  ...route('accept-invitation', 'Makes the user a member of the organization', {
    303: { description: 'To the page with the result.', type: 'null' },
    ...gone,
  }),
  ...form(
    { decision: { type: 'string', enum: ['accept'] }, _csrf: csrf },
    ['decision', '_csrf'],
    ['JOIN_ORGANIZATION', 'VERIFY_EMAIL'],
  ),
}
