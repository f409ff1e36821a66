/**
 * Sign-ins that the user allows on another device: `/push/{id}` and `/qr/{id}`, with a session, as JSON for apps and as pages
 * for browsers, which come by the link of a message or of a picture.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalid, Problem } from '#schemas/problems.ts'
import { xsrfHeader } from '#server/http/cookies/cookies.ts'
import type { MapError } from '#server/http/errors.ts'
import { wantsPage } from '#server/http/wants-page.ts'
import { freshIssuer } from '#server/oidc/issuer.ts'
import { approvalHandle } from '#server/oidc/page-handles.ts'
import { formOf, takeForms } from '#server/oidc/parameters.ts'
import type { UserPages, UserVisit } from '#server/oidc/signed-in-pages.ts'
import { noToken } from '#server/oidc/token/bearer.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { ApprovalRow } from '#server/storage/tables/sign-in-tables.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { bodyReader } from '../description.ts'
import { createJsonErrors } from '../errors.ts'
import type { SelfServicePages } from '../pages/definitions.ts'
import {
  type ApprovalParts,
  createApprovalDecisions,
  type Decider,
  type Kind,
} from './approval-decisions.ts'
import {
  describeApproval,
  describeConfirm,
  describeDecide,
  describeDeny,
  numberBody,
} from './describe-approvals.ts'

interface ApprovalRoute {
  Params: { realm: string; id: string }
}

type ApprovalRequest = FastifyRequest<ApprovalRoute>

const idOf = ({ params }: FastifyRequest): string => (params as ApprovalRoute['Params']).id

export interface SignInApprovalParts extends ApprovalParts {
  readonly issuers: Issuers
  readonly sessions: Sessions
  readonly pages: SelfServicePages
  readonly userPages: UserPages
  readonly mapError?: MapError | undefined
}

export const signInApprovals = (parts: SignInApprovalParts) => {
  const { issuers, sessions, pages, browser, userPages } = parts
  const decisions = createApprovalDecisions(parts)
  const readNumber = bodyReader<{ readonly number: string }>(numberBody)

  /** The caller of the JSON API; a write needs the CSRF token of the session. */
  const deciderOf = async (request: ApprovalRequest, reply: FastifyReply): Promise<Decider> => {
    const issuer = await freshIssuer(issuers, request)
    const cookie = browser.sessionCookie(request, issuer.name)
    const found =
      cookie === undefined ? undefined : await sessions.find(issuer.name, cookie, issuer.settings)
    if (!found) throw noToken(issuer)
    if (request.method === 'GET') browser.greet(reply, found.session)
    else if (!browser.isOfSession(found.session, String(request.headers[xsrfHeader] ?? '')))
      throw new Problem('csrf', 'send the value of the XSRF-TOKEN cookie as X-XSRF-TOKEN')
    return { ...found, request, realm: issuer.name }
  }

  const answer = async (
    reply: FastifyReply,
    decider: Decider,
    { kind, id }: ApprovalRow,
  ): Promise<FastifyReply> =>
    reply
      .header('cache-control', 'no-store')
      .send(decisions.shown(await decisions.find(decider, kind, id)))

  const read =
    (kind: Kind) =>
    async (request: ApprovalRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const decider = await deciderOf(request, reply)
      return answer(reply, decider, await decisions.find(decider, kind, request.params.id))
    }

  const allow =
    (kind: Kind) =>
    async (request: ApprovalRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const decider = await deciderOf(request, reply)
      const { number } = readNumber(request)
      const row = await decisions.open(decider, kind, request.params.id)
      const triesLeft = await decisions.allow(decider, row, number)
      if (triesLeft === undefined) return answer(reply, decider, row)
      const after = triesLeft > 0 ? `tries left: ${triesLeft}` : 'the sign-in is denied now'
      const message = `must be the one on the page of the sign-in; ${after}`
      throw invalid([{ field: '/number', code: 'wrong-number', message }])
    }

  const deny = async (request: ApprovalRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const decider = await deciderOf(request, reply)
    const row = await decisions.open(decider, 'push', request.params.id)
    await decisions.deny(decider, row)
    return answer(reply, decider, row)
  }

  const byVisit = ({ issuer, ...visit }: UserVisit): Decider => ({ ...visit, realm: issuer.name })

  const ask = (visit: UserVisit, row: ApprovalRow, error?: 'wrong-number'): FastifyReply =>
    pages.confirmSignIn(visit.reply, {
      ...userPages.pageOf(visit),
      action: `/realms/${row.realm}/${row.kind}/${row.id}`,
      application: row.client_name ?? undefined,
      ipAddress: row.ip_address,
      createdAt: row.created_at,
      asksNumber: true,
      ...(error && { error, status: 400 }),
    })

  const showPage = (kind: Kind) => async (visit: UserVisit) =>
    ask(visit, await decisions.open(byVisit(visit), kind, idOf(visit.request)))

  const submitPage =
    (kind: Kind) =>
    async (visit: UserVisit): Promise<FastifyReply> => {
      const form = formOf(visit.request)
      userPages.checkForm(visit, form.get('_csrf'))
      const decision = form.get('decision')
      if (decision !== 'allow' && decision !== 'deny')
        throw new Problem('bad-request', 'There is no such decision.')
      const decider = byVisit(visit)
      const row = await decisions.open(decider, kind, idOf(visit.request))
      const context = userPages.pageOf(visit)
      if (decision === 'allow') {
        const triesLeft = await decisions.allow(decider, row, form.get('number') ?? '')
        if (triesLeft === undefined)
          return pages.done(visit.reply, { ...context, what: 'sign-in-approved' })
        if (triesLeft > 0) return ask(visit, row, 'wrong-number')
      } else await decisions.deny(decider, row)
      return pages.done(visit.reply, { ...context, what: 'sign-in-denied' })
    }

  /** Redirects to the sign-in first, and back. */
  const handleFor = (kind: Kind) => (request: FastifyRequest) => {
    const handle = approvalHandle(kind, idOf(request))
    if (handle === undefined) throw new Problem('not-found', 'There is no such request.')
    return handle
  }

  return async (app: FastifyInstance): Promise<void> => {
    const onJson = createJsonErrors(parts.mapError)
    app.setErrorHandler((error, request, reply) =>
      wantsPage(request) ? userPages.onError(error, request, reply) : onJson(error, request, reply),
    )
    for (const kind of ['push', 'qr'] as const) {
      const url = `/realms/:realm/${kind}/:id`
      const page = userPages.forUser(handleFor(kind), showPage(kind))
      const json = read(kind)
      app.get<ApprovalRoute>(url, describeApproval(kind), (request, reply) =>
        wantsPage(request) ? page(request, reply) : json(request, reply),
      )
      app.post<ApprovalRoute>(
        `${url}/${kind === 'push' ? 'approve' : 'confirm'}`,
        describeConfirm(kind),
        allow(kind),
      )
      app.register((forms, _options, done) => {
        takeForms(forms)
        userPages.installErrors(forms)
        forms.post<ApprovalRoute>(
          url,
          describeDecide(kind),
          userPages.forUser(handleFor(kind), submitPage(kind)),
        )
        done()
      })
    }
    app.post<ApprovalRoute>('/realms/:realm/push/:id/deny', describeDeny, deny)
  }
}
