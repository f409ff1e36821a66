/**
 * The client configuration endpoint (RFC 7592 §2): a client reads, replaces and deletes itself with its registration access
 * token, which is another one after every update.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Vault } from '#server/keys/vault.ts'
import { isUuid } from '#server/platform/ids.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { RegisteredClientRow } from '#server/storage/tables/provisioning-tables.ts'
import { bearerIn } from '#server/tokens/access/presented.ts'
import { type ClientDocuments, registrant } from './client-documents.ts'
import { denied, invalidMetadata, invalidToken } from './errors.ts'
import { sendInformation } from './information.ts'
import { descriptiveOf, type Metadata } from './metadata.ts'
import type { RegisteredClients } from './registered-clients.ts'
import type { Offered, Requests } from './requests.ts'
import { refuseUnvouched } from './software-statements.ts'

export interface ManageParts {
  readonly vault: Vault
  readonly registered: RegisteredClients
  readonly documents: ClientDocuments
  readonly requests: Requests
}

export interface ClientRoute {
  Params: { realm: string; clientId: string }
}

/** A client that its registration access token is presented for. */
interface Managed extends Offered {
  readonly document: StoredDocument
  readonly row: RegisteredClientRow
  readonly token: string
}

/** Members of an answer that are no metadata. */
const issuedNames = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
]

/** Files own it, or an administrator: a client does not change what is reviewed elsewhere. */
const refuseOwned = ({ document }: Managed): void => {
  if (document.origin !== 'runtime')
    throw denied(
      'the client is part of the configuration of the realm: an administrator changes it',
    )
}

const unknownToken = () => invalidToken('the registration access token is not one of this client')

/** A client that another request deleted at the same moment is none of this server (RFC 7592 §2.2, §2.3). */
const orGone = (error: unknown): never => {
  throw error instanceof Problem && error.code === 'not-found' ? unknownToken() : error
}

export const createManage = ({ vault, registered, documents, requests }: ManageParts) => {
  /** An unknown client, one that is disabled and a wrong token answer the same (RFC 7592 §2.1). */
  const managed = async (request: FastifyRequest<ClientRoute>): Promise<Managed> => {
    const { realm, clientId } = request.params
    const offered = await requests.offeredBy(realm)
    const refused = unknownToken()
    const token = bearerIn(request)
    if (token === undefined || !isUuid(clientId)) throw refused
    const row = await registered.find(realm, clientId)
    if (!constantTimeEqual(row?.token_hash ?? '', sha256(token)) || !row) throw refused
    const document = await offered.issuer.view.byId(Client.kind, clientId)
    if (!document || !contentOf<ClientDoc>(document).enabled) throw refused
    return { ...offered, document, row, token }
  }

  /** RFC 7592 §2.2: the client names itself, and may repeat its secret, but not choose one; what the server issues is not sent back. */
  const checkIdentity = ({ document }: Managed, body: unknown): void => {
    const sent = (body ?? {}) as Readonly<Record<string, unknown>>
    const issued = issuedNames.find((name) => sent[name] !== undefined)
    if (issued !== undefined)
      throw invalidMetadata(`${issued} must not be part of an update (RFC 7592 §2.2)`)
    const { client_id, client_secret } = sent
    if (client_id !== document.key) throw invalidMetadata('client_id must be that of the client')
    const stored = document.secrets['/secret']
    const isSame =
      typeof client_secret === 'string' &&
      stored !== undefined &&
      vault.matches(document, '/secret', stored, client_secret)
    if (client_secret !== undefined && client_secret !== null && !isSame)
      throw invalidMetadata('client_secret must be the one of the client, or be left out')
  }

  return {
    read: async (request: FastifyRequest<ClientRoute>, reply: FastifyReply) => {
      const { issuer, document, row, token } = await managed(request)
      return sendInformation(reply, 200, {
        issuer,
        document,
        described: JSON.parse(row.metadata) as Metadata,
        registeredAt: row.registered_at,
        token,
      })
    },

    update: async (request: FastifyRequest<ClientRoute>, reply: FastifyReply) => {
      const client = await managed(request)
      refuseOwned(client)
      const { issuer, policy, document, row } = client
      checkIdentity(client, request.body)
      const { metadata, fields } = await requests.readClient(client, request.body)
      refuseUnvouched(JSON.parse(row.metadata) as Metadata, metadata)
      const token = randomToken()
      const described = descriptiveOf(metadata)
      const next = { token_hash: sha256(token), metadata: JSON.stringify(described) }
      const written = await documents
        .update(
          { realm: issuer.name, caller: registrant(document.id, request.ip), policy, fields },
          document,
          [registered.replace(row, next)],
        )
        .catch(orGone)
      return sendInformation(reply, 200, {
        issuer,
        ...(written ?? { document }),
        described,
        registeredAt: row.registered_at,
        token,
      })
    },

    remove: async (request: FastifyRequest<ClientRoute>, reply: FastifyReply) => {
      const client = await managed(request)
      refuseOwned(client)
      const { issuer, document } = client
      const caller = registrant(document.id, request.ip)
      await documents.remove({ realm: issuer.name, caller }, document).catch(orGone)
      return reply.code(204).header('cache-control', 'no-store').send()
    },
  }
}
