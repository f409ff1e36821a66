/** What the API description says about signing in and out. */

import type { RouteShorthandOptions } from 'fastify'
import type { EventType } from '#schemas/event-types.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'

const page = (description: string) => ({
  description,
  content: { 'text/html': { schema: { type: 'string' } } },
})

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

export const describeShow = route('show-login', 'The sign-in page; sets the CSRF cookie', {
  200: page('The form, or who is signed in already.'),
  404: page('There is no such realm.'),
})

export const describeSignIn = {
  ...route('sign-in', 'Signs in: a session cookie, and a new CSRF token', {
    303: toSignIn,
    401: page('Name or password is wrong, or nobody may sign in with them now.'),
    403: page('The form has expired, or nobody may sign in to this realm.'),
    404: page('There is no such realm.'),
    503: page('Too many sign in at this moment.'),
  }),
  ...form(
    {
      username: { type: 'string' },
      password: { type: 'string', format: 'password' },
      rememberMe: { type: 'string', enum: ['true'] },
      _csrf: csrf,
    },
    ['username', 'password', '_csrf'],
    ['LOGIN_SUCCESS', 'LOGIN_FAILURE', 'USER_LOCKED'],
  ),
}
