/**
 * The page where a user enters the code of a device, sees the client and its request, and decides (RFC 8628 §3.3). Sign-in
 * comes first; a link with the code leads to the same confirmation (§3.3.1, §5.4).
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { displayNameOf } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'
import { withQuery } from '#server/http/query.ts'
import { createMemoryLimiter } from '#server/http/rate-limit.ts'
import type { Clock } from '#server/platform/clock.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { stillAllowed } from '#server/tokens/access/scopes.ts'
import { mustSignInAgain } from '../consent/confirming.ts'
import { scopeWords } from '../consent/scope-words.ts'
import { describe } from '../description.ts'
import { urlOf } from '../endpoint.ts'
import type { RealmRoute } from '../issuer.ts'
import type { OidcPages } from '../page-definitions.ts'
import { deviceHandle } from '../page-handles.ts'
import { formOf, queryOf } from '../parameters.ts'
import type { UserPages, UserVisit } from '../signed-in-pages.ts'
import { createDecisions } from './decoupled-decisions.ts'
import { type DeviceRequests, normalCode, shownCode } from './device-requests.ts'

/** Guessing a code among 20^8 at this pace takes longer than any of them lives (§5.1). */
const entries = { limit: 10, seconds: 60 }

const replies = {
  200: pageReply('The page.'),
  303: { description: 'To the sign-in page.', type: 'null' },
  400: pageReply('There is no such code.'),
  403: pageReply('The form is not from this session.'),
  404: pageReply('There is no such realm.'),
  429: pageReply('Too many codes were tried.'),
}

const describeShow = describe({
  operationId: 'show-device',
  summary: 'Where a person types the code of a device',
  replies,
})
const describeDecide = describe({
  operationId: 'decide-device',
  summary: 'A user code, and the decision of the user',
  form: {
    user_code: 'The code.',
    decision: 'allow or deny; without it the user is asked.',
    _csrf: 'The token of the form.',
  },
  required: ['user_code', '_csrf'],
  replies,
  events: ['GRANT_CONSENT'],
})

const describeReturn = describe({
  operationId: 'return-to-device',
  summary: 'The address of an answered form, opened again: leads back to where codes are typed',
  replies: { 303: { description: 'To the page.', type: 'null' }, 404: replies[404] },
})

export interface DeviceVerificationParts {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly pages: OidcPages
  readonly userPages: UserPages
  readonly requests: DeviceRequests
}

export const deviceVerification = (parts: DeviceVerificationParts) => {
  const { pages, clock, recorder, requests } = parts
  const { forUser, checkForm, pageOf, signInAgain, installErrors } = parts.userPages
  const decisions = createDecisions({ recorder }, requests, 'device')
  const limiter = createMemoryLimiter(clock, entries)

  const actionOf = ({ issuer }: UserVisit): string => `/realms/${issuer.name}/device/verify`

  const askForCode = (visit: UserVisit, wrong?: string): FastifyReply =>
    pages.device(visit.reply, {
      ...pageOf(visit),
      action: actionOf(visit),
      ...(wrong === undefined ? {} : { status: 400, wrong: shownCode(wrong) }),
    })

  const askForDecision = async (visit: UserVisit, code: string): Promise<FastifyReply> => {
    const { issuer, user, reply } = visit
    const retryAfter = await limiter.take(user.id)
    if (retryAfter > 0)
      throw new Problem('rate-limited', `Try again in ${retryAfter} s.`, { extra: { retryAfter } })
    const row = await requests.claim(issuer.name, code, user.id).catch((error: unknown) => {
      if (error instanceof GuardFailedError) return undefined
      throw error
    })
    const client = row && (await decisions.clientOf(issuer, row))
    if (!row || !client) return askForCode(visit, code)
    return pages.deviceConfirm(reply, {
      ...pageOf(visit),
      ...(await scopeWords(issuer, client, stillAllowed(client, requests.dataOf(row).scope))),
      application: displayNameOf(client.doc),
      userCode: shownCode(code),
      action: actionOf(visit),
    })
  }

  const decide = async (
    visit: UserVisit,
    code: string,
    allowed: boolean,
  ): Promise<FastifyReply> => {
    const { issuer, user, reply } = visit
    const row = await requests.claimed(issuer.name, code, user.id)
    const { scope } = row ? requests.dataOf(row) : { scope: [] }
    if (allowed && (await mustSignInAgain(visit, scope, clock.now())))
      return signInAgain(visit, deviceHandle(code))
    if (!row || !(await decisions.decide(visit, row, allowed))) return askForCode(visit, code)
    return pages.deviceDone(reply, { ...pageOf(visit), allowed })
  }

  const show = (visit: UserVisit): Promise<FastifyReply> | FastifyReply => {
    const code = normalCode(queryOf(visit.request).get('user_code'))
    return code === '' ? askForCode(visit) : askForDecision(visit, code)
  }

  const submit = async (visit: UserVisit): Promise<FastifyReply> => {
    const form = formOf(visit.request)
    checkForm(visit, form.get('_csrf'))
    const code = normalCode(form.get('user_code'))
    switch (form.get('decision')) {
      case undefined:
        return askForDecision(visit, code)
      case 'allow':
        return decide(visit, code, true)
      case 'deny':
        return decide(visit, code, false)
      default:
        throw new Problem('bad-request', 'There is no such decision.')
    }
  }

  /** A user who chooses a language below an answered form, or reloads it by its address. */
  const goBack = async ({ issuer, request, reply }: UserVisit): Promise<FastifyReply> => {
    const [, query = ''] = request.url.split('?', 2)
    return reply.redirect(withQuery(`/realms/${issuer.name}/device`, query), 303)
  }

  const asked = (request: FastifyRequest): string =>
    deviceHandle(normalCode(queryOf(request).get('user_code')))
  const typed = (request: FastifyRequest): string =>
    deviceHandle(normalCode(formOf(request).get('user_code')))

  return async (app: FastifyInstance): Promise<void> => {
    installErrors(app)
    app.get<RealmRoute>(
      urlOf('/device'),
      // A HEAD request must not bind the code to a user.
      { ...describeShow, exposeHeadRoute: false },
      forUser(asked, async (visit) => show(visit)),
    )
    app.get<RealmRoute>(
      urlOf('/device/verify'),
      { ...describeReturn, exposeHeadRoute: false },
      forUser(asked, goBack),
    )
    app.post<RealmRoute>(urlOf('/device/verify'), describeDecide, forUser(typed, submit))
  }
}
