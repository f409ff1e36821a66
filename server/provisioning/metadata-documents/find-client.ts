/**
 * The client that a request names. One whose client_id is the address of a metadata document is read there, and stored as a
 * runtime document: consents, tokens, revocation and an administrator who disables it work as with any other client. It is
 * read again once its time is over. Where that fails, what is stored is good for a day more.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import { Provisioning } from '#schemas/kinds/provisioning/provisioning.ts'
import { Problem } from '#schemas/problems.ts'
import { documentAddress } from '#schemas/text/document-address.ts'
import { systemCaller } from '#server/http/caller.ts'
import { createMemoryLimiter } from '#server/http/rate-limit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { clientOf, type FindClient, type FoundClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { type ClientDocuments, registrant } from '../dcr/client-documents.ts'
import { RegistrationError } from '../dcr/errors.ts'
import { descriptiveOf, type Metadata } from '../dcr/metadata.ts'
import { checkOutside, type Outside } from '../dcr/outside.ts'
import {
  allowedGrants,
  allowedScopes,
  fieldsUnder,
  grantNamed,
  matchesHost,
  type Policy,
} from '../dcr/policy.ts'
import type { RegisteredClients } from '../dcr/registered-clients.ts'
import { provisioningOf } from '../endpoint.ts'
import { DocumentRefused, type FetchDocument } from './fetch-document.ts'

export interface FindClientParts {
  readonly clock: Clock
  readonly issuers: Issuers
  readonly outgoing: Outside
  readonly fetchDocument: FetchDocument
  readonly registered: RegisteredClients
  readonly documents: ClientDocuments
}

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** For so long after a refusal a document is read within the limits of unknown ones, and not at all where a stored one is good. */
const refusedMs = minuteMs
const mostRefused = 1000
/**
 * Anybody can name an address: reads of one realm, and of one host. Documents that are stored, or that the realm names in
 * `metadataDocumentClients`, are read outside these limits, so that requests with made-up addresses cannot keep a client
 * out; their own pace bounds them.
 */
const readsOfRealm = { limit: 120, seconds: 60 }
const readsOfHost = { limit: 20, seconds: 60 }
/** A sign-in that is under way takes this long at most. */
const underWayMs = 30 * minuteMs

/** A document is written for all servers: what this realm does not offer is left out, not refused. */
const narrowed = (metadata: Metadata, policy: Policy, scopes: readonly string[]): Metadata => {
  const { grant_types = ['authorization_code'], scope } = metadata
  const allowed = allowedGrants(policy)
  const kept = scope?.split(' ').filter((one) => scopes.includes(one))
  const { response_types: _, scope: __, ...rest } = metadata
  return {
    ...rest,
    grant_types: grant_types.filter((name) => allowed.some((one) => one === grantNamed(name))),
    ...(kept === undefined ? {} : { scope: kept.join(' ') }),
  }
}

/** Its own hosts are the policy of a document; those of redirect URIs are of clients that register. */
const documentPolicy = (policy: Policy): Policy => ({
  ...policy,
  trustedHosts: [],
  allowedAuthMethods: ['none', 'private_key_jwt'],
})

const isNamed = ({ metadataDocumentClients: named }: Policy, { href }: URL): boolean =>
  named.includes(href)

const isTrusted = (policy: Policy, address: URL): boolean => {
  const { metadataDocumentHosts: hosts } = policy
  return hosts.length === 0 || matchesHost(hosts, address.hostname) || isNamed(policy, address)
}

export const createFindClient = (parts: FindClientParts): FindClient => {
  const { clock, issuers, outgoing, fetchDocument, registered, documents } = parts
  const perRealm = createMemoryLimiter(clock, readsOfRealm)
  const perHost = createMemoryLimiter(clock, readsOfHost)
  const reading = new Map<string, Promise<FoundClient>>()
  /** When a document was refused last; the refusal itself is not kept (§5.2). */
  const refusals = new Map<string, number>()
  const caller = registrant(systemCaller.actor, systemCaller.sourceIp)

  const fieldsOf = async ({ view }: Issuer, policy: Policy, read: Metadata) => {
    const scopes = await allowedScopes(view, policy)
    const metadata = narrowed(read, policy, scopes)
    if (!metadata.grant_types?.includes('authorization_code'))
      throw new DocumentRefused('its grant_types must have authorization_code')
    const fields = fieldsUnder(metadata, documentPolicy(policy), scopes)
    const { logoUri } = await checkOutside(outgoing, metadata)
    return { ...fields, requirePkce: true, ...(logoUri === undefined ? {} : { logoUri }) }
  }

  /** The realm is full: one that was named and never used goes. */
  const makeRoom = async ({ name, view }: Issuer): Promise<boolean> => {
    const id = await registered.neverUsed(name, clock.now() - underWayMs)
    const document = id === undefined ? undefined : await view.byId(Client.kind, id)
    return document !== undefined && documents.removeIfFree({ realm: name, caller }, document)
  }

  const isFull = (error: unknown): boolean =>
    error instanceof RegistrationError && error.status === 403

  const store = async (
    issuer: Issuer,
    policy: Policy,
    clientId: string,
    before: StoredDocument | undefined,
  ): Promise<StoredDocument | undefined> => {
    const { metadata, freshMs } = await fetchDocument(clientId)
    const fields = await fieldsOf(issuer, policy, metadata)
    const now = clock.now()
    const read = {
      metadata: JSON.stringify(descriptiveOf(metadata)),
      fetched_at: now,
      fresh_until: now + freshMs,
    }
    const registration = { realm: issuer.name, caller, policy, fields }
    if (before) {
      const written = await documents.refresh(registration, before, [
        registered.read(before.id, read),
      ])
      return written?.document ?? before
    }
    const create = () =>
      documents.create(registration, clientId, ({ id }) =>
        registered.insert(
          {
            client_id: id,
            realm: issuer.name,
            source: 'metadata-document',
            token_hash: null,
            registered_at: now,
            last_used_at: now,
            ...read,
          },
          policy.maxClients,
        ),
      )
    const { document } = await create().catch(async (error: unknown) => {
      if (isFull(error) && (await makeRoom(issuer))) return create()
      throw error
    })
    return document
  }

  const reasonOf = (error: unknown): string => {
    if (error instanceof DocumentRefused || error instanceof RegistrationError) return error.message
    throw error
  }

  const refuse = (name: string, reason: string): FoundClient => {
    const [oldest] = refusals.size >= mostRefused ? refusals.keys() : []
    if (oldest !== undefined) refusals.delete(oldest)
    refusals.set(name, clock.now())
    return { refused: `the client metadata document is refused: ${reason}` }
  }

  const isCrowded = async ({ name }: Issuer, { host }: URL): Promise<boolean> =>
    (await perHost.take(`${name}\n${host}`)) > 0 || (await perRealm.take(name)) > 0

  const read = async (
    issuer: Issuer,
    policy: Policy,
    address: URL,
    before: StoredDocument | undefined,
    isGood: boolean,
  ): Promise<FoundClient> => {
    const name = `${issuer.name}\n${address.href}`
    const wasRefused = clock.now() - (refusals.get(name) ?? Number.NEGATIVE_INFINITY) < refusedMs
    const stored: FoundClient | undefined =
      before && isGood ? { client: clientOf(before) } : undefined
    if (wasRefused && stored) return stored
    const isKnown = before !== undefined || isNamed(policy, address)
    if ((wasRefused || !isKnown) && (await isCrowded(issuer, address)))
      return { refused: 'too many client metadata documents are read; try again' }
    try {
      const document = await store(issuer, policy, address.href, before)
      refusals.delete(name)
      return document ? { client: clientOf(document) } : {}
    } catch (error) {
      // Another node, or a request at the same moment, has stored it.
      if (error instanceof Problem && error.code === 'conflict') {
        const fresh = await issuers.fresh(issuer.name)
        const document = await fresh?.view.get(Client.kind, address.href)
        return document ? { client: clientOf(document) } : {}
      }
      const refused = refuse(name, reasonOf(error))
      return stored ?? refused
    }
  }

  return async (issuer, clientId) => {
    const document = await issuer.view.get(Client.kind, clientId)
    const found: FoundClient = document ? { client: clientOf(document) } : {}
    const address = documentAddress(clientId)
    if (address === undefined || (document && document.origin !== 'runtime')) return found
    const policy = await provisioningOf(issuer.view)
    if (!policy.clientMetadataDocuments)
      return { refused: 'the realm takes no client metadata documents' }
    if (!isTrusted(policy, address))
      return { refused: 'the realm does not trust the host of the client metadata document' }
    if (found.client?.doc.enabled === false) return found
    const row = document && (await registered.find(issuer.name, document.id))
    const now = clock.now()
    // A policy that has changed since is met by reading it again.
    const since = (await issuer.view.get(Provisioning.kind, Provisioning.kind))?.updatedAt ?? 0
    if (row && (row.fresh_until ?? 0) > now && (row.fetched_at ?? 0) >= since) return found
    const name = `${issuer.name}\n${clientId}`
    const isGood = row !== undefined && (row.fetched_at ?? 0) > now - dayMs
    const running =
      reading.get(name) ??
      read(issuer, policy, address, document, isGood).finally(() => reading.delete(name))
    reading.set(name, running)
    return running
  }
}
