/** The API description of the authorization endpoint. */

import { pageReply } from '#server/http/pages/page-reply.ts'
import { describe } from '../description.ts'

const replies = {
  200: pageReply('A page for consent or accounts, or one that sends the answer on as a form.'),
  303: { description: 'To the client, to the sign-in page, or on.', type: 'null' },
  400: pageReply('The request is invalid, and no redirect URI is known.'),
  403: pageReply('It has expired, or began in another browser.'),
  404: pageReply('There is no such realm.'),
} as const

const parameters = {
  client_id: 'The client.',
  redirect_uri: 'Where the answer goes; one of the client, byte for byte.',
  response_type: 'code',
  response_mode: 'How the answer travels; query unless it is given.',
  scope: 'Scopes, separated by spaces.',
  state: 'Comes back as it is.',
  nonce: 'Comes back in the id token.',
  code_challenge: 'Of PKCE (RFC 7636); required for public clients.',
  code_challenge_method: 'S256',
  prompt: 'none, or some of login, consent and select_account.',
  max_age: 'Seconds since the last sign-in.',
  login_hint: 'What the sign-in form is filled with.',
  kc_idp_hint: 'The identity provider to sign in with, by alias.',
  organization:
    'The organization that it is for, by alias; so does the scope organization:<alias>.',
  id_token_hint: 'An id token of the expected user.',
  ui_locales: 'Languages, separated by spaces.',
  acr_values: 'Classes of authentication that are preferred.',
  claims: 'Claims that are asked for one by one (OIDC Core 5.5).',
  resource: 'What access tokens are for (RFC 8707); may be repeated.',
  dpop_jkt: 'The key that the code is bound to (RFC 9449).',
  request: 'A request object (RFC 9101).',
  request_uri: 'A request that was pushed (RFC 9126).',
}

export const authorizeParameters = parameters

export const describeAuthorize = (operationId: string) =>
  describe({
    operationId,
    summary: 'Asks a user to sign in for a client',
    ...(operationId === 'authorize' ? {} : { form: parameters, required: ['client_id'] }),
    replies,
    events: ['GRANT_CONSENT'],
  })

export const describeContinue = describe({
  operationId: 'continue-authorize',
  summary: 'Continues a request that waited for the user',
  replies,
})

export const describeDecide = describe({
  operationId: 'decide-authorize',
  summary: 'The decision of the user: allow, deny, continue, or another account',
  form: {
    decision: 'allow, deny, continue or other.',
    _csrf: 'The token of the form.',
  },
  required: ['decision', '_csrf'],
  replies,
  events: ['GRANT_CONSENT'],
})
