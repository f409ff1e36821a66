/**
 * The client registration endpoint (RFC 7591 §3) and the client configuration endpoint (RFC 7592 §2). A realm without
 * registration answers 404. Registering takes an initial access token unless the realm lets anybody; later requests take the
 * registration access token of the client, which is another one after every update.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { ProvisioningDoc } from '#schemas/kinds/provisioning/provisioning.ts'
import type { MapError } from '#server/http/errors.ts'
import { createMemoryLimiter, rateLimited } from '#server/http/rate-limit.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import { isUuid } from '#server/platform/ids.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import type { Storage } from '#server/storage/contract.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type {
  ProvisioningTokenRow,
  RegisteredClientRow,
} from '#server/storage/tables/provisioning-tables.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { type Endpoint, provisioningOf, urlOf } from '../endpoint.ts'
import { findProvisioningToken, spendProvisioningToken } from '../provisioning-tokens.ts'
import { type ClientDocuments, registrant, type Written } from './client-documents.ts'
import { describeManaged, describeRegister } from './describe-register.ts'
import {
  denied,
  installRegistrationErrors,
  invalidMetadata,
  invalidToken,
  notOffered,
} from './errors.ts'
import { descriptiveOf, type Metadata, metadataOf, readMetadata } from './metadata.ts'
import { checkOutside, type Outside } from './outside.ts'
import { allowedScopes, fieldsUnder } from './policy.ts'
import type { RegisteredClients } from './registered-clients.ts'
import type { SoftwareStatements } from './software-statements.ts'

export interface RegisterParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly issuers: Issuers
  readonly outgoing: Outside
  readonly vault: Vault
  readonly registered: RegisteredClients
  readonly documents: ClientDocuments
  readonly softwareStatements: SoftwareStatements
  readonly mapError: MapError | undefined
}

export const registerPath = '/connect/register'

/** From one address: far more than a client needs, far less than would fill a realm or its log. */
const perMinute = 120
/** Metadata with keys and a software statement is smaller. */
const longestBody = 128 * 1024

interface RealmRoute {
  Params: { realm: string }
}
interface ClientRoute {
  Params: { realm: string; clientId: string }
}

interface Offered {
  readonly issuer: Issuer
  readonly policy: ProvisioningDoc
}

/** A client that its registration access token is presented for. */
interface Managed extends Offered {
  readonly document: StoredDocument
  readonly row: RegisteredClientRow
  readonly token: string
}

const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i

const tokenOf = ({ headers: { authorization } }: FastifyRequest): string | undefined =>
  authorization === undefined ? undefined : bearer.exec(authorization)?.[1]

const describedBy = ({ metadata }: Pick<RegisteredClientRow, 'metadata'>): Metadata =>
  JSON.parse(metadata) as Metadata

/** The client information response (RFC 7591 §3.2.1, RFC 7592 §3). */
const information = (
  { url }: Issuer,
  { document, secret }: Written,
  described: Metadata,
  registeredAt: number,
  token: string,
): Readonly<Record<string, unknown>> => ({
  client_id: document.key,
  client_id_issued_at: Math.floor(registeredAt / 1000),
  ...(secret === undefined ? {} : { client_secret: secret }),
  ...('/secret' in document.secrets ? { client_secret_expires_at: 0 } : {}),
  registration_access_token: token,
  registration_client_uri: `${url}${registerPath}/${document.id}`,
  ...metadataOf(contentOf<ClientDoc>(document), described),
})

const answer = (reply: FastifyReply, status: number, body: unknown): FastifyReply =>
  reply.code(status).headers({ 'cache-control': 'no-store', pragma: 'no-cache' }).send(body)

export const register = (parts: RegisterParts): Endpoint => {
  const { storage, clock, issuers, outgoing, vault, registered, documents } = parts
  const limiter = createMemoryLimiter(clock, { limit: perMinute, seconds: 60 })

  const offeredBy = async (realm: string): Promise<Offered> => {
    const issuer = await issuers.fresh(realm)
    const policy = issuer && (await provisioningOf(issuer.view))
    if (!issuer || !policy?.dcrEnabled) throw notOffered()
    return { issuer, policy }
  }

  /** Nothing of an anonymous request, where the realm takes them. */
  const initialToken = async (
    { issuer, policy }: Offered,
    request: FastifyRequest,
  ): Promise<ProvisioningTokenRow | undefined> => {
    if (request.headers.authorization === undefined && policy.anonymousAllowed) return undefined
    const token = tokenOf(request)
    const row =
      token === undefined
        ? undefined
        : await findProvisioningToken(
            storage,
            { realm: issuer.name, purpose: 'initial-access', hash: sha256(token) },
            clock.now(),
          )
    if (!row)
      throw invalidToken(
        'send an initial access token of the realm as a bearer token; an administrator makes one',
      )
    return row
  }

  /** The metadata that counts, and the fields of the document for it. */
  const readClient = async ({ issuer, policy }: Offered, body: unknown) => {
    const metadata = await parts.softwareStatements(readMetadata(body), policy)
    const fields = fieldsUnder(metadata, policy, await allowedScopes(issuer.view, policy))
    return { metadata, fields: { ...fields, ...(await checkOutside(outgoing, metadata)) } }
  }

  const create = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const offered = await offeredBy(request.params.realm)
    const { issuer, policy } = offered
    const initial = await initialToken(offered, request)
    const { metadata, fields } = await readClient(offered, request.body)
    const token = randomToken()
    const now = clock.now()
    const described = descriptiveOf(metadata)
    const written = await documents.create(
      {
        realm: issuer.name,
        caller: registrant(initial?.id ?? 'anonymous', request.ip),
        policy,
        fields,
      },
      `registered-${randomToken(12)}`,
      (document) => [
        ...(initial ? [spendProvisioningToken(storage, initial)] : []),
        ...registered.insert(
          {
            client_id: document.id,
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
    return answer(reply, 201, information(issuer, written, described, now, token))
  }

  /** An unknown client, one that is disabled and a wrong token answer the same (RFC 7592 §2.1). */
  const managed = async (request: FastifyRequest<ClientRoute>): Promise<Managed> => {
    const { realm, clientId } = request.params
    const offered = await offeredBy(realm)
    const refused = invalidToken('the registration access token is not one of this client')
    const token = tokenOf(request)
    if (token === undefined || !isUuid(clientId)) throw refused
    const row = await registered.find(realm, clientId)
    if (!constantTimeEqual(row?.token_hash ?? '', sha256(token)) || !row) throw refused
    const document = await offered.issuer.view.byId(Client.kind, clientId)
    if (!document || !contentOf<ClientDoc>(document).enabled) throw refused
    return { ...offered, document, row, token }
  }

  /** Files or an administrator own it now: a client does not change what is reviewed elsewhere. */
  const refuseOwned = ({ document }: Managed): void => {
    if (document.origin !== 'runtime')
      throw denied(
        'the client is part of the configuration of the realm: an administrator changes it',
      )
  }

  /** RFC 7592 §2.2: the client names itself, and may repeat its secret, but not choose one. */
  const checkIdentity = ({ document }: Managed, body: unknown): void => {
    const { client_id, client_secret } = (body ?? {}) as Readonly<Record<string, unknown>>
    if (client_id !== document.key) throw invalidMetadata('client_id must be that of the client')
    const stored = document.secrets['/secret']
    const isSame =
      typeof client_secret === 'string' &&
      stored !== undefined &&
      vault.matches(document, '/secret', stored, client_secret)
    if (client_secret !== undefined && client_secret !== null && !isSame)
      throw invalidMetadata('client_secret must be the one of the client, or be left out')
  }

  const update = async (request: FastifyRequest<ClientRoute>, reply: FastifyReply) => {
    const client = await managed(request)
    refuseOwned(client)
    const { issuer, policy, document, row } = client
    const { metadata, fields } = await readClient(client, request.body)
    checkIdentity(client, request.body)
    const token = randomToken()
    const described = descriptiveOf(metadata)
    const written = await documents.update(
      { realm: issuer.name, caller: registrant(document.id, request.ip), policy, fields },
      document,
      [
        registered.replace(row, {
          token_hash: sha256(token),
          metadata: JSON.stringify(described),
        }),
      ],
    )
    const body = information(issuer, written ?? { document }, described, row.registered_at, token)
    return answer(reply, 200, body)
  }

  const routes = (app: FastifyInstance): void => {
    installRegistrationErrors(app, parts.mapError)
    // Pages of applications register too (MCP clients in a browser); no cookie counts here.
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('access-control-allow-origin', '*')
    })
    const limited = { onRequest: rateLimited(limiter, ({ ip }) => ip), bodyLimit: longestBody }
    const one = urlOf(`${registerPath}/:clientId`)
    for (const [url, methods] of [
      [urlOf(registerPath), 'POST'],
      [one, 'GET, PUT, DELETE'],
    ] as const)
      app.options(url, async (_request, reply) =>
        reply
          .code(204)
          .headers({
            'access-control-allow-methods': methods,
            'access-control-allow-headers': 'authorization, content-type',
            'access-control-max-age': '600',
          })
          .send(),
      )
    app.post<RealmRoute>(urlOf(registerPath), { ...limited, ...describeRegister }, create)
    app.get<ClientRoute>(one, { ...limited, ...describeManaged.read }, async (request, reply) => {
      const { issuer, document, row, token } = await managed(request)
      const described = describedBy(row)
      return answer(
        reply,
        200,
        information(issuer, { document }, described, row.registered_at, token),
      )
    })
    app.put<ClientRoute>(one, { ...limited, ...describeManaged.update }, update)
    app.delete<ClientRoute>(
      one,
      { ...limited, ...describeManaged.remove },
      async (request, reply) => {
        const client = await managed(request)
        refuseOwned(client)
        const { issuer, document } = client
        const caller = registrant(document.id, request.ip)
        await documents.remove({ realm: issuer.name, caller }, document)
        return reply.code(204).header('cache-control', 'no-store').send()
      },
    )
  }

  return { path: registerPath, routes }
}
