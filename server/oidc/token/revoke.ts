/**
 * Token revocation (RFC 7009). A refresh token ends its whole grant, an access token itself and what was exchanged from it. A token that is not
 * good any more, or never was, is as revoked as can be: 200 (§2.2).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Doer } from '#server/sessions/doer.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { allowOriginOf, type Preflights } from '../cors.ts'
import { clientParameters, describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { invalidRequest } from '../errors.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import { formOf } from '../parameters.ts'
import { doerWith } from './acting.ts'

export interface RevokeParts {
  readonly issuers: Issuers
  readonly verifier: Verifier
  readonly grantsStore: GrantsStore
  readonly recorder: Recorder
  readonly authenticateClient: AuthenticateClient
  readonly preflights: Preflights
}

interface Revocation {
  /** The client that the token was issued to. */
  readonly clientId: string
  readonly doer: Doer
  readonly detail: string
  readonly statements: readonly Statement[]
}

const path = '/revoke'

export const revoke = (parts: RevokeParts): Endpoint => {
  const { issuers, verifier, grantsStore, recorder, authenticateClient, preflights } = parts

  const ofAccessToken = async (issuer: Issuer, value: string): Promise<Revocation | undefined> => {
    const verified = await verifier.accessToken(issuer, value)
    if (!verified) return undefined
    const { claims, client, user } = verified
    return {
      clientId: client.id,
      doer: user ? doerWith(user.id, claims) : { actor: client.id },
      detail: 'access_token',
      statements: grantsStore.revokeToken(
        issuer.name,
        String(claims['jti']),
        Number(claims['exp']) * 1000,
      ),
    }
  }

  const ofRefreshToken = async (issuer: Issuer, value: string): Promise<Revocation | undefined> => {
    const found = await grantsStore.findRefreshToken(issuer.name, value)
    const grant = found?.grant ?? (await grantsStore.familyOfForgotten(issuer.name, value))
    if (!grant) return undefined
    const { id, client_id, user_id } = grant
    return {
      clientId: client_id,
      doer:
        user_id === null
          ? { actor: client_id }
          : doerWith(user_id, grantsStore.dataOf(grant).claims),
      detail: 'refresh_token',
      statements: grantsStore.revoke(id),
    }
  }

  const write = async (
    issuer: Issuer,
    { clientId, doer, detail, statements }: Revocation,
    outcome: AuditEvent['outcome'],
    sourceIp: string,
  ): Promise<void> => {
    await recorder.append(statements, [
      {
        type: 'REVOKE_GRANT',
        realm: issuer.name,
        ...doer,
        sourceIp,
        outcome,
        resourceType: Client.resourceType,
        resourceId: clientId,
        detail,
      },
    ])
  }

  /** Revocation of a token of another client may indicate a leak: it is audited and has no effect. */
  const foreign = (client: TokenClient, { clientId, detail }: Revocation): Revocation => ({
    clientId,
    doer: { actor: client.id },
    detail: `${detail}: it was issued to another client`,
    statements: [],
  })

  const handle = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const form = formOf(request)
    const issuer = await freshIssuer(issuers, request)
    const { client } = await authenticateClient(issuer, request, form)
    allowOriginOf(client, request, reply)
    const value = form.require('token')
    const found = (await ofAccessToken(issuer, value)) ?? (await ofRefreshToken(issuer, value))
    if (found && found.clientId !== client.id) {
      await write(issuer, foreign(client, found), 'FAILURE', request.ip)
      throw invalidRequest('the token was not issued to this client')
    }
    if (found) await write(issuer, found, 'SUCCESS', request.ip)
    // Clients ignore the body (§2.2), but simple-oauth2 takes nothing but JSON for an answer.
    return reply.type('application/json; charset=utf-8').send('{}')
  }

  return {
    path,
    member: 'revocation_endpoint',
    routes: (app) => {
      const description = describe({
        operationId: 'revoke-token',
        summary: 'Ends a token (RFC 7009)',
        form: {
          token: 'The token.',
          token_type_hint: 'Ignored: the server detects the type of a token.',
          ...clientParameters,
        },
        required: ['token'],
        replies: {
          200: {
            description: 'It is not good any more: an empty object.',
            type: 'object',
            additionalProperties: false,
          },
          ...refusals(400, 401),
        },
        events: ['CLIENT_LOGIN', 'REVOKE_GRANT'],
      })
      app.post<RealmRoute>(urlOf(path), description, handle)
      preflights(app, urlOf(path), 'POST')
    },
  }
}
