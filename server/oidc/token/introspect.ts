/**
 * Token introspection (RFC 7662). A client learns about tokens that were issued to it or that are meant for it; any
 * other is inactive to it, whatever it is (§4; CVE-2026-37979).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import { isHeldBy } from '#server/tokens/access/presented.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { Subjects } from '#server/tokens/subject.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { clientParameters, describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidClient } from '../errors.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { formOf } from '../parameters.ts'
import { permissionsIn } from '../uma/asked-permissions.ts'

export interface IntrospectParts {
  readonly issuers: Issuers
  readonly verifier: Verifier
  readonly grantsStore: GrantsStore
  readonly clock: Clock
  readonly recorder: Recorder
  readonly subjects: Pick<Subjects, 'isPairwise'>
  readonly authenticateClient: AuthenticateClient
}

export type Introspection = { readonly active: boolean; readonly [member: string]: unknown }

/** The calling client and the endpoint. */
interface Question {
  readonly issuer: Issuer
  readonly caller: TokenClient
  readonly sourceIp: string
}

const path = '/introspect'
const inactive: Introspection = { active: false }
const inactiveText = JSON.stringify(inactive)

const answerSchema = {
  description: 'Whether the token is active, and its claims.',
  type: 'object',
  properties: { active: { type: 'boolean' } },
  required: ['active'],
  additionalProperties: true,
} as const

/** Permissions of an RPT, as UMA 2.0 Federated Authorization §5.1.1 names their members, and as Keycloak does; they stand in place of `scope`. */
const permissionsTold = (claims: Claims): object => {
  const permissions = permissionsIn(claims).map((one) => ({
    ...one,
    resource_id: one.rsid,
    resource_scopes: one.scopes ?? [],
    exp: claims['exp'],
  }))
  return claims['authorization'] === undefined ? {} : { permissions, scope: undefined }
}

export const introspect = (parts: IntrospectParts): Endpoint => {
  const { issuers, verifier, grantsStore, clock, recorder, subjects, authenticateClient } = parts

  /** Introspection of a valid token by an unrelated client may indicate a leak: it is audited. */
  const recordForeign = async (
    { issuer, caller, sourceIp }: Question,
    { client }: VerifiedToken,
  ): Promise<void> => {
    await recorder.append(
      [],
      [
        {
          type: 'INTROSPECT_TOKEN',
          realm: issuer.name,
          actor: caller.id,
          sourceIp,
          outcome: 'FAILURE',
          resourceType: Client.resourceType,
          resourceId: client.id,
          detail: 'the token is of another client, and for others',
        },
      ],
    )
  }

  /** The last answer about a token that is remembered; its user is the same object until something is committed. */
  const written = new WeakMap<Claims, { readonly user: unknown; readonly text: string }>()

  /** The client that the token was issued to, which may differ from the calling client. */
  const usernameOf = async (
    { view }: Issuer,
    client: TokenClient,
    user: VerifiedToken['user'],
  ): Promise<object> =>
    user && !(await subjects.isPairwise(view, client)) ? { username: user.username } : {}

  const textOf = async (
    issuer: Issuer,
    { claims, client, user }: VerifiedToken,
  ): Promise<string> => {
    const before = written.get(claims)
    if (before && before.user === user) return before.text
    const bound = claims['cnf'] !== undefined
    const answer: Introspection = {
      ...claims,
      active: true,
      token_type: bound ? 'DPoP' : 'Bearer',
      ...permissionsTold(claims),
      ...(await usernameOf(issuer, client, user)),
    }
    const text = JSON.stringify(answer)
    written.set(claims, { user, text })
    return text
  }

  const accessToken = async (question: Question, value: string): Promise<string | undefined> => {
    const verified = await verifier.accessToken(question.issuer, value)
    if (!verified) return undefined
    if (isHeldBy(question.caller, verified)) return textOf(question.issuer, verified)
    await recordForeign(question, verified)
    return inactiveText
  }

  const refreshToken = async (
    { issuer, caller }: Question,
    value: string,
  ): Promise<Introspection> => {
    const found = await grantsStore.findRefreshToken(issuer.name, value)
    if (!found || found.grant.client_id !== caller.id) return inactive
    const { token } = found
    if (token.used_at !== null || token.expires_at <= clock.now()) return inactive
    const live = await verifier.grant(issuer, token.grant_id)
    if (!live) return inactive
    return {
      active: true,
      token_type: 'refresh_token',
      client_id: caller.clientId,
      iss: issuer.url,
      scope: grantsStore.scopeOf(live.grant).join(' '),
      iat: Math.floor(token.created_at / 1000),
      exp: Math.floor(token.expires_at / 1000),
      ...(await usernameOf(issuer, caller, live.user)),
    }
  }

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = formOf(request)
    const issuer = await freshIssuer(issuers, request)
    const { client, method } = await authenticateClient(issuer, request, form)
    if (method === 'none') throw invalidClient('a public client may not introspect')
    const value = form.require('token')
    const question = { issuer, caller: client, sourceIp: request.ip }
    const answer =
      (await accessToken(question, value)) ?? JSON.stringify(await refreshToken(question, value))
    return reply.type('application/json; charset=utf-8').send(answer)
  }

  return {
    path,
    member: 'introspection_endpoint',
    routes: (app) => {
      const description = describe({
        operationId: 'introspect-token',
        summary: 'Whether a token is good (RFC 7662)',
        form: {
          token: 'The token.',
          token_type_hint: 'Ignored: the server detects the type of a token.',
          ...clientParameters,
        },
        required: ['token'],
        replies: { 200: answerSchema, ...refusals(400, 401) },
        events: ['INTROSPECT_TOKEN'],
      })
      app.post<RealmRoute>(urlOf(path), description, handle)
    },
  }
}
