/**
 * The old address undoes a change of it. The link shows a page first, as mail scanners follow links too; its form restores
 * the address and revokes all access gained since: sessions, tokens, new credentials, new links to identity providers, and the
 * password, which is reset by mail to the restored address. Unknown, used and expired links get the same response.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { removeCredentialsSince } from '#server/credentials/credential-removal.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'
import type { PageError } from '#server/http/pages/pages.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { RealmRoute } from '#server/oidc/issuer.ts'
import type { Clock } from '#server/platform/clock.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { ownEvent } from '#server/sign-in/actions/completed.ts'
import { linkToken } from '#server/sign-in/authenticators/codes/email-link.ts'
import { endClaimedLinks } from '#server/sign-in/brokers/claimed-links.ts'
import { giveUp, holderOf } from '#server/sign-in/messages/claims.ts'
import { signInPath } from '#server/sign-in/pages/addresses.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import { FORM_LIMIT, readForm } from '#server/sign-in/pages/form.ts'
import { installPageScope, type PageScopeParts } from '#server/sign-in/pages/page-scope.ts'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import type { AddressUndoRow } from '#server/storage/tables/sign-in-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { Links } from '#server/users/links/links.ts'
import { type AddressNotice, restoreAddressPath } from '#server/users/messages/address-notice.ts'
import { type AddressUndos, addressUndoGuard } from '#server/users/messages/address-undos.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { describe } from '../description.ts'
import type { SelfServicePages } from '../pages/definitions.ts'

export interface RestoreAddressParts extends PageScopeParts {
  readonly pages: SelfServicePages
  readonly issuers: Issuers
  readonly storage: Storage
  readonly users: Users
  readonly sessions: Sessions
  readonly links: Pick<Links, 'unlinkSince'>
  readonly recorder: Recorder
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly clock: Clock
  readonly browser: Browser
  readonly addressNotice: AddressNotice
  readonly addressUndos: AddressUndos
  readonly ranks: Pick<Ranks, 'permissionsOf'>
}

type RealmRequest = FastifyRequest<RealmRoute>

interface Found {
  readonly undo: AddressUndoRow
  readonly user: UserRow
}

const replies = {
  403: pageReply('A file declares the user, or the form is of another browser.'),
  404: pageReply('There is no such realm.'),
  409: pageReply('Another user has shown the address to be theirs.'),
  410: pageReply('The link is unknown, was used, or has expired.'),
}

const describeShow = describe({
  operationId: 'show-address-change',
  summary: 'Where the link in the mail to an old address leads to; it changes nothing',
  replies: { 200: pageReply('The address that would be restored.'), ...replies },
  refusals: [],
})

const describeRestore = describe({
  operationId: 'restore-address',
  summary: 'Restores the old address, and ends what came in by the new one',
  form: true,
  body: {
    type: 'object',
    properties: { token: { type: 'string' }, _csrf: { type: 'string' } },
    required: ['token', '_csrf'],
  },
  replies: { 200: pageReply('It is restored.'), ...replies },
  refusals: [],
  events: ['UPDATE_EMAIL', 'REMOVE_CREDENTIAL'],
})

export const restoreAddress = (parts: RestoreAddressParts) => {
  const { issuers, storage, users, sessions, recorder, jobs, clock, pages } = parts
  const { browser, addressNotice, addressUndos } = parts

  const isAdministrator = async (view: Issuer['view'], { id }: UserRow): Promise<boolean> =>
    (await parts.ranks.permissionsOf(view, id)).size > 0

  /** A page tells the problem: the errors of OAuth belong to the protocol endpoints. */
  const issuerOf = async ({ params }: RealmRequest): Promise<Issuer> => {
    const issuer = await issuers.fresh(params.realm)
    if (!issuer) throw new Problem('not-found', 'There is no such realm.')
    return issuer
  }

  const context = (request: RealmRequest, { name, settings }: Issuer) =>
    pageContext(pages, request, name, settings)

  const refuse = (
    request: RealmRequest,
    reply: FastifyReply,
    issuer: Issuer,
    [error, status]: readonly [PageError, number],
  ): FastifyReply =>
    pages.error(reply, {
      ...context(request, issuer),
      error,
      status,
      requestId: request.id,
      backUrl: signInPath(issuer.name, undefined),
    })

  const gone = ['link-used', 410] as const

  const find = async ({ name }: Issuer, token: string): Promise<Found | undefined> => {
    const undo = await addressUndos.find(name, token)
    const user = undo && (await users.find(name, undo.user_id))
    return undo && user && { undo, user }
  }

  /** Whether the address can be had: one that is only claimed goes back to the user who had it. */
  const restore = async (
    { view, name: realm }: Issuer,
    { undo, user }: Found,
    address: string,
  ): Promise<boolean> => {
    const { holder, yields } = await holderOf(parts, realm, undo.email)
    const claimant = holder && holder.id !== user.id ? holder : undefined
    if (claimant && !yields) return false
    const place = { realm, address }
    const given = claimant ? giveUp(parts, place, claimant, user) : { statements: [], events: [] }
    const back = { email: undo.email, emailVerified: undo.email_verified === 1 }
    const after = changedUserRow(user, back, clock.now())
    await recorder.commit(
      [
        ...addressUndos.use(undo),
        ...given.statements,
        ...users.updateStatements(user, after),
        // An administrator keeps the password from before: mail alone does not give a new one.
        ...removeCredentialsSince(storage, undo.user_id, undo.created_at, {
          password: !(await isAdministrator(view, user)),
        }),
        endClaimedLinks(parts.links, user.id, undo.created_at),
        ...sessions.revokeAllOf(user.id),
        ...(await addressNotice.statements(view, [{ before: user, after, isFinal: true }])),
      ],
      [
        ...given.events,
        ownEvent(place, user, 'UPDATE_EMAIL', 'restored by the old address'),
        ownEvent(place, user, 'REMOVE_CREDENTIAL', 'those added since the change'),
      ],
    )
    jobs.wake(logoutQueue)
    addressNotice.wake()
    return true
  }

  const show = async (request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const issuer = await issuerOf(request)
    const token = linkToken(request)
    const found = await find(issuer, token)
    if (!found) return refuse(request, reply, issuer, gone)
    if (found.user.managed === 1) return refuse(request, reply, issuer, ['forbidden', 403])
    const { csrf } = browser.prepare(request, reply, issuer.name)
    const { email } = found.user
    return pages.confirmLink(reply, {
      ...context(request, issuer),
      action: restoreAddressPath(issuer.name),
      csrf,
      purpose: 'restore-email',
      username: email === null ? '-' : maskedRecipient('EMAIL', email),
      email: found.undo.email,
      fields: { token },
    })
  }

  const submit = async (request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const issuer = await issuerOf(request)
    const form = readForm(request.body)
    if (!browser.isPrepared(request, issuer.name, form('_csrf')))
      throw new Problem('csrf', 'The form is from another browser; open the link again.')
    const found = await find(issuer, form('token'))
    if (!found) return refuse(request, reply, issuer, gone)
    if (found.user.managed === 1) return refuse(request, reply, issuer, ['forbidden', 403])
    try {
      if (!(await restore(issuer, found, request.ip)))
        return refuse(request, reply, issuer, ['forbidden', 409])
    } catch (error) {
      if (!(error instanceof GuardFailedError) || error.guard !== addressUndoGuard) throw error
      return refuse(request, reply, issuer, gone)
    }
    const { settings, view } = issuer
    const what = (await isAdministrator(view, found.user))
      ? 'email-restored-administrator'
      : settings.resetPasswordAllowed
        ? 'email-restored'
        : 'email-restored-no-reset'
    return pages.done(reply, {
      ...context(request, issuer),
      what,
      continueUrl: `/realms/${issuer.name}/login${what === 'email-restored' ? '/forgot' : ''}`,
    })
  }

  return async (app: FastifyInstance): Promise<void> => {
    await installPageScope(app, parts)
    const url = restoreAddressPath(':realm')
    app.get<RealmRoute>(url, describeShow, show)
    app.post<RealmRoute>(url, { ...describeRestore, bodyLimit: FORM_LIMIT }, submit)
  }
}
