/**
 * The client registration endpoint (RFC 7591 §3): takes an initial access token, unless the realm allows anonymous registration.
 * The token is spent, the client is counted and the document is written in one transaction.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { ProvisioningTokenRow } from '#server/storage/tables/provisioning-tables.ts'
import { bearerIn } from '#server/tokens/access/presented.ts'
import { findProvisioningToken, spendProvisioningToken } from '../provisioning-tokens.ts'
import { type ClientDocuments, registrant } from './client-documents.ts'
import { invalidToken } from './errors.ts'
import { sendInformation } from './information.ts'
import { descriptiveOf } from './metadata.ts'
import type { RegisteredClients } from './registered-clients.ts'
import type { Offered, Requests } from './requests.ts'

export interface RegisterParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly registered: RegisteredClients
  readonly documents: ClientDocuments
  readonly requests: Requests
}

export interface RealmRoute {
  Params: { realm: string }
}

export const createRegister = (parts: RegisterParts) => {
  const { storage, clock, registered, documents, requests } = parts

  /** Nothing of an anonymous request, where the realm takes them. */
  const initialToken = async (
    { issuer, policy }: Offered,
    request: FastifyRequest,
  ): Promise<ProvisioningTokenRow | undefined> => {
    if (request.headers.authorization === undefined && policy.anonymousAllowed) return undefined
    const hash = sha256(bearerIn(request) ?? '')
    const wanted = { realm: issuer.name, purpose: 'initial-access', hash } as const
    const row = await findProvisioningToken(storage, wanted, clock.now())
    if (!row)
      throw invalidToken(
        'send an initial access token of the realm as a bearer token; an administrator makes one',
      )
    return row
  }

  return async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const offered = await requests.offeredBy(request.params.realm)
    const { issuer, policy } = offered
    const initial = await initialToken(offered, request)
    const { metadata, fields } = await requests.readClient(offered, request.body)
    const token = randomToken()
    const now = clock.now()
    const described = descriptiveOf(metadata)
    const caller = registrant(initial?.id ?? 'anonymous', request.ip)
    const written = await documents.create(
      { realm: issuer.name, caller, policy, fields },
      `registered-${randomToken(12)}`,
      ({ id }) => [
        ...(initial ? [spendProvisioningToken(storage, initial)] : []),
        ...registered.insert(
          {
            client_id: id,
            realm: issuer.name,
            source: 'registration',
            token_hash: sha256(token),
            metadata: JSON.stringify(described),
            registered_at: now,
            last_used_at: now,
            fetched_at: null,
            fresh_until: null,
          },
          policy.maxClients,
        ),
      ],
    )
    return sendInformation(reply, 201, {
      issuer,
      document: written.document,
      ...(written.secret === undefined ? {} : { secret: written.secret }),
      described,
      registeredAt: now,
      token,
    })
  }
}
