/** The API description of the sign-out. */

import { pageReply } from '#server/http/pages/page-reply.ts'
import { describe } from '../description.ts'

const replies = {
  200: pageReply('Asks the user for confirmation, or shows that the user is signed out.'),
  303: {
    description:
      'To the post-logout redirect URI, to the sign-in page, or to the page that continues a posted request.',
    type: 'null',
  },
  400: pageReply('The request is wrong.'),
  403: pageReply('The form is not from this session.'),
  404: pageReply('There is no such realm.'),
} as const

export const describeLogout = describe({
  operationId: 'logout',
  summary: 'Signs out for a client (OIDC RP-Initiated Logout)',
  replies,
  events: ['LOGOUT'],
})

export const describeStored = describe({
  operationId: 'continue-logout',
  summary: 'Continues a sign-out that a client requested by POST',
  replies,
  events: ['LOGOUT'],
})

export const describeSignOut = describe({
  operationId: 'sign-out',
  summary: 'Signs out: ends the session and notifies the clients',
  form: {
    _csrf: 'The token of the form, or of the XSRF-TOKEN cookie; without it the user is asked.',
    id_token_hint: 'An id token of the session, expired or not.',
    client_id: 'The client, where there is no hint.',
    post_logout_redirect_uri: 'Where the browser goes; one of the client, byte for byte.',
    state: 'Comes back as it is.',
    ui_locales: 'Languages, separated by spaces.',
  },
  replies: { ...replies, 429: pageReply('Too many requests from this network.') },
  events: ['LOGOUT'],
})
