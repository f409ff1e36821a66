/** What users have allowed clients, for themselves: to see, and to take back with all that it gave. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AccountCallerParts, createAccountCaller } from '../account-caller.ts'
import { consentsSchema, createConsents } from '../consents.ts'
import type { Preflights } from '../cors.ts'
import { describe, errorSchema, refusals } from '../description.ts'
import { freshIssuer, type RealmRoute } from '../issuer.ts'
import type { OidcParts } from '../parts.ts'
import { createRevokeConsent } from '../revoke-consent.ts'
import { type Endpoint, urlOf } from './endpoint.ts'

export interface AccountConsentsParts
  extends AccountCallerParts,
    Pick<OidcParts, 'issuers' | 'storage' | 'clock' | 'grantsStore' | 'recorder'> {
  readonly preflights: Preflights
}

interface ConsentRoute {
  Params: RealmRoute['Params'] & { clientId: string }
}

const path = '/account/gdpr/consents'
const onePath = `${path}/:clientId`

export const accountConsents = (parts: AccountConsentsParts): Endpoint => {
  const { issuers, recorder, preflights } = parts
  const consents = createConsents(parts)
  const callerOf = createAccountCaller(parts)
  const take = createRevokeConsent({ recorder, consents })

  const list = async (
    request: FastifyRequest<RealmRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const issuer = await freshIssuer(issuers, request)
    const { user } = await callerOf(issuer, request, reply)
    return reply.header('cache-control', 'no-store').send(await consents.list(issuer.name, user.id))
  }

  const revoke = async (
    request: FastifyRequest<ConsentRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const issuer = await freshIssuer(issuers, request)
    const account = await callerOf(issuer, request, reply)
    await take(issuer, account, request.params.clientId, request.ip)
    return reply.code(204).header('cache-control', 'no-store').send()
  }

  return {
    path,
    routes: (app) => {
      app.get<RealmRoute>(
        urlOf(path),
        describe({
          operationId: 'list-own-consents',
          summary: 'What the user has allowed clients',
          replies: { 200: consentsSchema, ...refusals(401, 403) },
        }),
        list,
      )
      app.delete<ConsentRoute>(
        urlOf(onePath),
        describe({
          operationId: 'revoke-own-consent',
          summary: 'Takes back what the user has allowed a client, and ends all that it was given',
          replies: {
            204: { description: 'It is taken back.', type: 'null' },
            ...refusals(401, 403),
            404: { description: 'There is no such realm, or no such consent.', ...errorSchema },
          },
          events: ['REVOKE_GRANT'],
        }),
        revoke,
      )
      preflights(app, urlOf(path), 'GET')
      preflights(app, urlOf(onePath), 'DELETE')
    },
  }
}
