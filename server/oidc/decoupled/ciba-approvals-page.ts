/** The page for pending CIBA requests of a user, to allow or deny them. */

import type { FastifyInstance, FastifyReply } from 'fastify'
import { displayNameOf } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { stillAllowed } from '#server/tokens/access/scopes.ts'
import { mustSignInAgain } from '../consent/confirming.ts'
import { scopeWords } from '../consent/scope-words.ts'
import { describe } from '../description.ts'
import { urlOf } from '../endpoint.ts'
import type { RealmRoute } from '../issuer.ts'
import type { ApprovalWish, OidcPages } from '../page-definitions.ts'
import { approvalsHandle } from '../page-handles.ts'
import { formOf } from '../parameters.ts'
import type { UserPages, UserVisit } from '../signed-in-pages.ts'
import { approvalsPath } from './ciba-message.ts'
import { pingQueue } from './ciba-ping.ts'
import type { CibaRequests } from './ciba-requests.ts'
import type { Decisions } from './decoupled-decisions.ts'
import type { DecoupledRow } from './decoupled-requests.ts'

const path = approvalsPath

const replies = {
  200: pageReply('What waits for the user.'),
  303: { description: 'To the sign-in page.', type: 'null' },
  400: pageReply('There is no such decision.'),
  403: pageReply('The form is not from this session.'),
  404: pageReply('There is no such realm.'),
}

const describeShow = describe({
  operationId: 'show-approvals',
  summary: 'Pending requests of the signed-in user',
  replies,
})
const describeDecide = describe({
  operationId: 'decide-approval',
  summary: 'The decision of the user about a request',
  form: {
    request: 'The request, as the page names it.',
    decision: 'allow or deny.',
    _csrf: 'The token of the form.',
  },
  required: ['request', 'decision', '_csrf'],
  replies,
  events: ['GRANT_CONSENT'],
})

export interface ApprovalPageParts {
  readonly clock: Clock
  readonly jobs: Pick<Jobs, 'wake'>
  readonly pages: OidcPages
  readonly userPages: UserPages
  readonly requests: CibaRequests
  readonly decisions: Decisions
}

export const approvals = (parts: ApprovalPageParts) => {
  const { pages, clock, jobs, requests, decisions } = parts
  const { forUser, checkForm, pageOf, signInAgain, installErrors } = parts.userPages

  const wishOf = async ({ issuer }: UserVisit, row: DecoupledRow): Promise<ApprovalWish[]> => {
    const client = await decisions.clientOf(issuer, row)
    if (!client) return []
    const { scope, bindingMessage } = requests.dataOf(row)
    return [
      {
        id: row.id,
        application: displayNameOf(client.doc),
        message: bindingMessage,
        minutes: Math.max(1, Math.ceil((row.expires_at - clock.now()) / 60_000)),
        ...(await scopeWords(issuer, client, stillAllowed(client, scope))),
      },
    ]
  }

  const show = async (
    visit: UserVisit,
    notice?: 'allowed' | 'denied' | 'gone',
  ): Promise<FastifyReply> => {
    const { issuer, user, reply } = visit
    const rows = await requests.listOf(issuer.name, user.id)
    const wishes = await Promise.all(rows.map((row) => wishOf(visit, row)))
    return pages.approvals(reply, {
      ...pageOf(visit),
      action: `/realms/${issuer.name}${path}`,
      wishes: wishes.flat(),
      notice,
    })
  }

  const submit = async (visit: UserVisit): Promise<FastifyReply> => {
    const { request, issuer, user } = visit
    const form = formOf(request)
    checkForm(visit, form.get('_csrf'))
    const decision = form.get('decision')
    if (decision !== 'allow' && decision !== 'deny')
      throw new Problem('bad-request', 'There is no such decision.')
    const wanted = form.get('request')
    const rows = await requests.listOf(issuer.name, user.id)
    const row = rows.find(({ id }) => id === wanted)
    const allowed = decision === 'allow'
    const { scope } = row ? requests.dataOf(row) : { scope: [] }
    if (allowed && (await mustSignInAgain(visit, scope, clock.now())))
      return signInAgain(visit, approvalsHandle)
    if (!row || !(await decisions.decide(visit, row, allowed))) return show(visit, 'gone')
    jobs.wake(pingQueue)
    return show(visit, allowed ? 'allowed' : 'denied')
  }

  return async (app: FastifyInstance): Promise<void> => {
    installErrors(app)
    const back = () => approvalsHandle
    app.get<RealmRoute>(
      urlOf(path),
      describeShow,
      forUser(back, (visit) => show(visit)),
    )
    app.post<RealmRoute>(urlOf(path), describeDecide, forUser(back, submit))
  }
}
