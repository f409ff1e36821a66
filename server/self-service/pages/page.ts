/** A page of the account: what it shows, and what its form does. */

import type { FastifyReply } from 'fastify'
import type { EventType } from '#schemas/wire/event-types.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'
import type { AccountPath } from '#server/oidc/page-handles.ts'
import type { Parameters } from '#server/oidc/parameters.ts'
import type { UserVisit } from '#server/oidc/signed-in-pages.ts'
import { describe } from '../description.ts'

export interface AccountPage {
  /** Below the account. */
  readonly path: `/${string}`
  /** Its section, the return target after a sign-in. */
  readonly section: AccountPath
  /** Names the operations: `show-…` and `submit-…`. */
  readonly name: string
  readonly summary: string
  readonly show: (visit: UserVisit) => Promise<FastifyReply>
  /** Its form, whose token was checked; none where the page has none. */
  readonly submit?: (visit: UserVisit, form: Parameters) => Promise<FastifyReply>
  /** What the form holds beside the token. */
  readonly fields?: readonly string[]
  readonly events?: readonly EventType[]
}

const seeOther = (description: string) => ({ description, type: 'null' })

const common = {
  303: seeOther('To the sign-in page, or to the page with the result.'),
  404: pageReply('There is no such realm, or no such thing.'),
}

const pageReplies = { 200: pageReply('The page.'), ...common }

export const describeEntry = describe({
  callers: ['page'],
  operationId: 'show-account',
  summary: 'To the first page of the account',
  replies: common,
  refusals: [],
})

export const describeShow = ({ name, summary }: AccountPage) =>
  describe({
    callers: ['page'],
    operationId: `show-${name}`,
    summary,
    replies: pageReplies,
    refusals: [],
  })

export const describeSubmit = ({ name, summary, fields = [], events = [] }: AccountPage) =>
  describe({
    callers: ['page'],
    operationId: `submit-${name}`,
    summary: `${summary}: what its form sends`,
    form: true,
    body: {
      type: 'object',
      properties: Object.fromEntries([...fields, '_csrf'].map((one) => [one, { type: 'string' }])),
      required: ['_csrf'],
    },
    replies: {
      ...pageReplies,
      400: pageReply('The page again, with the errors.'),
      403: pageReply('The form is not from this session, or an administrator acts as the user.'),
      409: pageReply('It cannot be changed here.'),
    },
    refusals: [],
    events,
  })
