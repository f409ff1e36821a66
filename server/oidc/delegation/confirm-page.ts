/**
 * The page where a user confirms that an agent may act with high-risk scopes. It names the agent, the user, the scopes, the
 * resource and the lifetime. The agent learns the address from the refusal of its exchange, and asks again after the decision.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Agent } from '#schemas/kinds/provisioning/agent.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'
import type { Clock } from '#server/platform/clock.ts'
import { doerOf } from '#server/sessions/doer.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { DelegationConfirmationRow } from '#server/storage/tables/agent-tables.ts'
import { type BoundAgent, boundAgent } from '#server/tokens/agents/agents.ts'
import { mustSignInAgain } from '../consent/confirming.ts'
import { wordsOf } from '../consent/scope-words.ts'
import { shownAgent } from '../consent/shown-application.ts'
import { describe } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import type { HandleRoute } from '../issuer.ts'
import type { OidcPages } from '../page-definitions.ts'
import { accountHandle, agentConfirmPath, approvalHandle } from '../page-handles.ts'
import { formOf } from '../parameters.ts'
import type { UserPages, UserVisit } from '../signed-in-pages.ts'
import type { Confirmations } from './confirmations.ts'

export interface ConfirmPageParts {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly pages: OidcPages
  readonly userPages: UserPages
  readonly confirmations: Pick<Confirmations, 'find' | 'decide'>
}

const replies = {
  200: pageReply('What the agent asks for, or that it is decided.'),
  303: { description: 'To the sign-in page.', type: 'null' },
  400: pageReply('There is no such decision.'),
  403: pageReply('The form is not from this session, or an administrator acts as the user.'),
  404: pageReply('There is no such realm, or no such request of this user.'),
}

const describeShow = describe({
  operationId: 'show-agent-confirmation',
  summary: 'The confirmation that an agent asks of the signed-in user',
  replies,
})
const describeDecide = describe({
  operationId: 'decide-agent-confirmation',
  summary: 'The decision of the user about high-risk scopes of an agent',
  form: { decision: 'allow or deny.', _csrf: 'The token of the form.' },
  required: ['decision', '_csrf'],
  replies,
  events: ['GRANT_CONSENT'],
})

interface Question {
  readonly row: DelegationConfirmationRow
  readonly agent: BoundAgent
  readonly scopes: readonly string[]
  readonly targets: readonly string[]
}

const idOf = ({ params }: FastifyRequest): string => (params as HandleRoute['Params']).handle

const handleOf = (request: FastifyRequest): string =>
  approvalHandle('agent', idOf(request)) ?? accountHandle('agents')

const gone = (): Problem => new Problem('not-found', 'There is no such request, or it has expired.')

export const delegationConfirm = (parts: ConfirmPageParts): Endpoint => {
  const { clock, recorder, pages, confirmations } = parts
  const { forUser, checkForm, pageOf, signInAgain, installErrors } = parts.userPages

  /** The one that the agent made for this user. */
  const questionOf = async ({ request, issuer, user }: UserVisit): Promise<Question> => {
    const row = await confirmations.find(issuer.name, idOf(request), user.id)
    const document = row && (await issuer.view.byId(Agent.kind, row.agent_id))
    if (!row || !document) throw gone()
    return {
      row,
      agent: boundAgent(document),
      scopes: JSON.parse(row.scopes) as string[],
      targets: JSON.parse(row.targets) as string[],
    }
  }

  const tell = (
    visit: UserVisit,
    { agent }: Question,
    notice: 'allowed' | 'denied' | 'gone',
  ): FastifyReply =>
    pages.agentConfirmed(visit.reply, { ...pageOf(visit), agent: agent.name, notice })

  const show = async (visit: UserVisit): Promise<FastifyReply> => {
    const question = await questionOf(visit)
    const { row, agent, scopes, targets } = question
    if (row.status !== 'PENDING') return tell(visit, question, 'gone')
    if (await mustSignInAgain(visit, scopes, clock.now()))
      return signInAgain(visit, handleOf(visit.request))
    return pages.agentConfirm(visit.reply, {
      ...pageOf(visit),
      action: `/realms/${visit.issuer.name}${agentConfirmPath}/${row.id}`,
      agent: shownAgent(agent),
      risky: await wordsOf(visit.issuer, scopes),
      targets,
    })
  }

  const decide = async (
    visit: UserVisit,
    question: Question,
    allowed: boolean,
  ): Promise<boolean> => {
    const { request, issuer, user, session } = visit
    const { row, agent, scopes, targets } = question
    const detail = allowed ? [...scopes, ...targets].join(' ') : 'access_denied'
    try {
      await recorder.commit(
        [confirmations.decide(row, allowed)],
        [
          {
            type: 'GRANT_CONSENT',
            realm: issuer.name,
            ...doerOf(user.id, session),
            sourceIp: request.ip,
            outcome: allowed ? 'SUCCESS' : 'FAILURE',
            resourceType: Agent.resourceType,
            resourceId: agent.id,
            detail: `confirmation: ${detail}`,
          },
        ],
      )
      return true
    } catch (error) {
      if (error instanceof GuardFailedError) return false
      throw error
    }
  }

  const submit = async (visit: UserVisit): Promise<FastifyReply> => {
    const form = formOf(visit.request)
    checkForm(visit, form.get('_csrf'))
    const decision = form.get('decision')
    if (decision !== 'allow' && decision !== 'deny')
      throw new Problem('bad-request', 'There is no such decision.')
    const question = await questionOf(visit)
    const allowed = decision === 'allow'
    if (allowed && (await mustSignInAgain(visit, question.scopes, clock.now())))
      return signInAgain(visit, handleOf(visit.request))
    const decided = await decide(visit, question, allowed)
    return tell(visit, question, decided ? (allowed ? 'allowed' : 'denied') : 'gone')
  }

  const path = `${agentConfirmPath}/:handle`
  const routes = async (app: FastifyInstance): Promise<void> => {
    installErrors(app)
    app.get<HandleRoute>(urlOf(path), describeShow, forUser(handleOf, show))
    app.post<HandleRoute>(urlOf(path), describeDecide, forUser(handleOf, submit))
  }

  return {
    path,
    routes: (app) => {
      app.register(routes)
    },
  }
}
