/**
 * Backchannel authentication (CIBA Core §7): a client that knows the user asks for a decision. A message leads the user to
 * the page for approvals; the client learns of the decision by polling, or polls after a notification (ping).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientSigningAlgorithms } from '#schemas/kinds/clients/client.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { allowedResources } from '#server/tokens/access/audience.ts'
import { openidScope } from '#server/tokens/access/scopes.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { Mint } from '#server/tokens/mint.ts'
import { SubjectMissingError } from '#server/tokens/subject.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { Post } from '#server/users/messages/post.ts'
import type { Users } from '#server/users/users.ts'
import type { AuthenticateClient, AuthenticatedClient } from '../client-auth/authenticate-client.ts'
import { clientParameters, describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidRequest, invalidScope, oauthError, unauthorizedClient } from '../errors.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { formOf, type Parameters } from '../parameters.ts'
import type { RecordRefusal } from '../record-refusal.ts'
import type { GrantPlace } from '../token/issue.ts'
import { type ApprovalPageParts, approvals } from './ciba-approvals-page.ts'
import type { CibaMessage } from './ciba-message.ts'
import { pendingGuard } from './ciba-requests.ts'
import type { SignedAuthentication } from './ciba-signed.ts'
import { pollInterval } from './decoupled-requests.ts'

export interface BackchannelParts extends ApprovalPageParts {
  readonly storage: Storage
  readonly issuers: Issuers
  readonly verifier: Verifier
  readonly mint: Mint
  readonly users: Users
  readonly sessions: Sessions
  readonly post: Pick<Post, 'wake'>
  readonly messageFor: CibaMessage
  readonly parametersOf: SignedAuthentication
  readonly recordRefusal: RecordRefusal
  readonly authenticateClient: AuthenticateClient
  readonly agents: Pick<Agents, 'granted'>
}

const path = '/backchannel-authentication'
/** Seconds. */
const defaultLifetime = 300
const longestLifetime = 600
/** Short enough to be compared by eye (§7.1); words of many languages have combining marks and joiners in them. */
const bindingMessage = /^(?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]|\p{Join_Control}){1,64}$/u
const notificationToken = /^[A-Za-z0-9\-._~+/]{1,1024}=*$/
const hints = ['login_hint', 'id_token_hint', 'login_hint_token'] as const

const unknownUser = oauthError('unknown_user_id')
const badMessage = oauthError('invalid_binding_message')
/** Here it is 403 (§13), at the token endpoint 400. */
const accessDenied = oauthError('access_denied', 403)

const answerSchema = {
  description: 'The request was taken (CIBA Core §7.3).',
  type: 'object',
  properties: {
    auth_req_id: { type: 'string' },
    expires_in: { type: 'integer' },
    interval: { type: 'integer' },
  },
  required: ['auth_req_id', 'expires_in'],
  additionalProperties: false,
} as const

const description = describe({
  operationId: 'authenticate-backchannel',
  summary: 'Starts a backchannel authentication (CIBA)',
  form: {
    scope: 'Scopes, separated by spaces; openid among them.',
    login_hint: 'The username of the user.',
    id_token_hint: 'An id token of the user, instead.',
    binding_message: 'What the user sees here and there, 64 characters at most.',
    requested_expiry: 'Seconds until the request expires.',
    client_notification_token: 'Bearer token for the notification of the client (ping mode).',
    resource: 'What the token is for (RFC 8707); may be repeated.',
    request: 'All of these as claims that the client signed, instead (§7.1.1).',
    ...clientParameters,
  },
  replies: { 200: answerSchema, ...refusals(400, 401, 403) },
  events: ['CLIENT_LOGIN'],
})

const lifetimeOf = (form: Parameters): number => {
  const text = form.get('requested_expiry')
  if (text === undefined) return defaultLifetime
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw invalidRequest('requested_expiry must be a number of seconds')
  return Math.min(Number(text), longestLifetime)
}

const messageOf = (form: Parameters): string | undefined => {
  const text = form.get('binding_message')
  if (text !== undefined && !bindingMessage.test(text))
    throw badMessage('binding_message is one line of 64 characters at most')
  return text
}

const notificationOf = ({ doc }: TokenClient, form: Parameters): string | undefined => {
  if (doc.backchannelTokenDeliveryMode !== 'ping') return undefined
  const token = form.require('client_notification_token')
  if (!notificationToken.test(token))
    throw invalidRequest('client_notification_token must have the characters of a bearer token')
  return token
}

export const backchannelAuthentication = (parts: BackchannelParts): Endpoint => {
  const { issuers, authenticateClient, users, sessions, verifier, mint, storage, post } = parts
  const { requests, messageFor, parametersOf, recordRefusal, agents } = parts

  /** Undefined where the user has none for the client: no token could be issued. */
  const subjectOf = async (
    issuer: Issuer,
    client: TokenClient,
    user: UserRow,
  ): Promise<string | undefined> => {
    try {
      return await mint.subject(issuer, client, user)
    } catch (error) {
      if (error instanceof SubjectMissingError) return undefined
      throw error
    }
  }

  const ofIdToken = async (
    issuer: Issuer,
    client: TokenClient,
    hint: string,
  ): Promise<UserRow | undefined> => {
    const token = await verifier.idToken(issuer, hint)
    if (token?.aud !== client.clientId)
      throw invalidRequest('the id_token_hint is not an id token for this client')
    const { sub, sid, grantId, userId } = token
    const session =
      sid === undefined ? undefined : await sessions.findBySid(issuer.name, sid, issuer.settings)
    // The user is asked away from a browser, long after the session: an offline grant, and a name, outlive it.
    const user =
      session?.user ??
      (await verifier.grant(issuer, grantId))?.user ??
      (await users.find(issuer.name, userId ?? sub)) ??
      (await users.findByLogin(issuer.name, sub, { withEmail: true }))?.user
    const same = user && (await subjectOf(issuer, client, user)) === sub
    return same ? user : undefined
  }

  /** A user who may not sign in is treated as an unknown user (CVE-2026-9798). */
  const userOf = async (
    issuer: Issuer,
    client: TokenClient,
    form: Parameters,
  ): Promise<UserRow> => {
    const given = hints.filter((name) => form.get(name) !== undefined)
    const [name, ...others] = given
    if (name === undefined || others.length > 0)
      throw invalidRequest('give one of login_hint and id_token_hint')
    if (name === 'login_hint_token') throw invalidRequest('login_hint_token is not supported')
    const hint = form.require(name)
    const withEmail = issuer.settings.loginWithEmailAllowed
    const user =
      name === 'id_token_hint'
        ? await ofIdToken(issuer, client, hint)
        : (await users.findByLogin(issuer.name, hint, { withEmail }))?.user
    if (user?.enabled !== 1 || user.locked !== 0) throw unknownUser('there is no such user')
    if ((await subjectOf(issuer, client, user)) === undefined)
      throw unknownUser('there is no such user', {
        detail: 'the client has no subject for the user',
      })
    return user
  }

  const ask = async (
    { issuer, client }: GrantPlace,
    method: AuthenticatedClient['method'],
    sent: Parameters,
  ) => {
    if (method === 'none' || !client.doc.grantTypes.includes('CIBA'))
      throw unauthorizedClient('the client may not use CIBA')
    const form = await parametersOf(issuer, client, sent)
    if (form.get('user_code') !== undefined) throw invalidRequest('user_code is not supported')
    const scope = await agents.granted(issuer.view, client, form.require('scope'))
    if (!scope.includes(openidScope)) throw invalidScope('the scope openid is missing')
    const [lifetimeSeconds, binding] = [lifetimeOf(form), messageOf(form)]
    const notification = notificationOf(client, form)
    const resources = allowedResources(client, form.all('resource'))
    const user = await userOf(issuer, client, form)
    const { authReqId, id, expiresAt, statements } = requests.create({
      realm: issuer.name,
      clientId: client.id,
      userId: user.id,
      data: {
        scope,
        resources,
        ...(binding === undefined ? {} : { bindingMessage: binding }),
      },
      lifetimeSeconds,
      notificationToken: notification,
    })
    const message = await messageFor(issuer, { id, client, user, expiresAt })
    await storage.commit([...statements, ...message]).catch((error) => {
      throw error instanceof GuardFailedError && error.guard === pendingGuard
        ? accessDenied('too many requests wait for the user')
        : error
    })
    post.wake()
    return { auth_req_id: authReqId, expires_in: lifetimeSeconds, interval: pollInterval }
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = formOf(request)
    const issuer = await freshIssuer(issuers, request)
    const { client, method } = await authenticateClient(issuer, request, form)
    const place = { issuer, client, sourceIp: request.ip }
    const answer = await ask(place, method, form).catch(async (error) => {
      throw await recordRefusal('CLIENT_LOGIN', place, error)
    })
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer))
  }

  return {
    path,
    member: 'backchannel_authentication_endpoint',
    metadata: {
      backchannel_token_delivery_modes_supported: ['poll', 'ping'],
      backchannel_authentication_request_signing_alg_values_supported: clientSigningAlgorithms,
      backchannel_user_code_parameter_supported: false,
    },
    routes: (app) => {
      app.post<RealmRoute>(urlOf(path), description, handle)
      app.register(approvals(parts))
    },
  }
}
