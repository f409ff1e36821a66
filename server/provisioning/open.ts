/** Opens provisioning: dynamic client registration, what the provider asks it about clients, and tokens for workloads. */

import type { FastifyPluginAsync } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { HttpArea } from '#server/http/open.ts'
import type { Secrets } from '#server/keys/secrets.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { RealmArea } from '#server/realm/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import { createClientDocuments } from './dcr/client-documents.ts'
import { registerPath } from './dcr/information.ts'
import { createRegisteredClients } from './dcr/registered-clients.ts'
import { registration } from './dcr/registration.ts'
import { createRequests } from './dcr/requests.ts'
import { createSoftwareStatements } from './dcr/software-statements.ts'
import { createUses } from './dcr/uses.ts'
import { provisioningOf } from './endpoint.ts'
import { createFetchDocument } from './metadata-documents/fetch-document.ts'
import { createFindClient } from './metadata-documents/find-client.ts'
import { openWorkload, type WorkloadNeeds } from './workload/open.ts'

export interface ProvisioningNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly logger: Logger
  readonly secrets: Pick<Secrets, 'vault'>
  readonly outgoing: Outgoing
  readonly recorder: Recorder
  readonly metrics: WorkloadNeeds['metrics']
  readonly tokens: Pick<TokensArea, 'issuers' | 'mint' | 'agents'>
  readonly realm: Pick<RealmArea, 'writer'>
  readonly http: Pick<HttpArea, 'mapError' | 'slowRefusal'>
}

const metadataOf = async ({ url, view }: Issuer): Promise<Readonly<Record<string, unknown>>> => {
  const { dcrEnabled, clientMetadataDocuments } = await provisioningOf(view)
  return Object.fromEntries([
    ...(dcrEnabled ? [['registration_endpoint', `${url}${registerPath}`]] : []),
    ...(clientMetadataDocuments ? [['client_id_metadata_document_supported', true]] : []),
  ])
}

export const openProvisioning = (needs: ProvisioningNeeds) => {
  const { storage, clock, logger, outgoing, recorder, metrics, tokens, http } = needs
  const { issuers } = needs.tokens
  const { mapError, slowRefusal } = needs.http
  const { vault } = needs.secrets
  const registered = createRegisteredClients(storage)
  const documents = createClientDocuments(needs.realm.writer)
  const softwareStatements = createSoftwareStatements({ outgoing, clock })
  const requests = createRequests({ issuers, outgoing, softwareStatements })
  const uses = createUses({ storage, clock, registered, documents })
  const fetchDocument = createFetchDocument(outgoing)
  const endpoints = [
    registration({
      storage,
      clock,
      vault,
      registered,
      documents,
      requests,
      mapError,
      slowRefusal,
    }),
    openWorkload({ clock, logger, outgoing, recorder, metrics, tokens, http }),
  ]

  return {
    /** What the metadata of an issuer says of provisioning (RFC 8414 §2). */
    metadataOf,
    findClient: createFindClient({
      clock,
      issuers,
      outgoing,
      fetchDocument,
      registered,
      documents,
    }),
    /** Called when a client has authenticated. */
    clientUsed: uses.note,
    endUnusedClients: uses.endUnused,
    /** Each endpoint answers errors as its own protocol does. */
    routes: (async (app) => {
      for (const endpoint of endpoints)
        app.register(async (scope) => {
          endpoint.routes(scope)
        })
    }) satisfies FastifyPluginAsync,
  }
}
