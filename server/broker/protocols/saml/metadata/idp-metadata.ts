/**
 * The metadata of providers: `metadataXml` as it stands in the document, `metadataUrl` as it was last read. An address is read
 * at the first sign-in, again when it is due, and once more when a signature fits none of the known keys, so that a change
 * of keys at the provider needs no hand. What cannot be read, has expired or is not signed as it must be changes nothing.
 */

import { milliseconds } from '#schemas/text/durations.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { FetchMetadata } from '#server/saml-metadata/fetch-metadata.ts'
import { type IdpMetadata, readIdpMetadata } from '#server/saml-metadata/idp-metadata.ts'
import { metadataKeys } from '#server/saml-metadata/metadata-keys.ts'
import { MetadataRefused } from '#server/saml-metadata/metadata-refused.ts'
import { ConstraintError, type Storage } from '#server/storage/contract.ts'
import type { ProviderMetadataRow } from '#server/storage/tables/saml-tables.ts'
import { type Provider, UpstreamRefused } from '../../../protocol.ts'
import { type MetadataRows, metadataIn, sourceOf } from './metadata-rows.ts'

export interface IdpMetadataParts {
  readonly storage: Pick<Storage, 'append'>
  readonly clock: Clock
  readonly rows: MetadataRows
  readonly fetchMetadata: FetchMetadata
}

/** Read again after this, unless the document says otherwise. */
const dayMs = 86_400_000
/** After a failure. */
const retryMs = 600_000
/** A sign-in asks a provider that failed again after this, and one whose keys do not fit. */
const pauseMs = 60_000
/** Documents that are kept parsed. */
const mostKept = 100

const reasonOf = (error: unknown): string => {
  if (error instanceof MetadataRefused) return `${error.place}: ${error.message}`
  throw error
}

export const createIdpMetadata = (parts: IdpMetadataParts) => {
  const { storage, clock, rows, fetchMetadata } = parts
  /** By provider: a document is parsed once. */
  const inDocument = new Map<string, { readonly xml: string; readonly metadata: IdpMetadata }>()
  const underWay = new Map<string, Promise<IdpMetadata>>()

  const unavailable = (text: string): never => {
    throw new UpstreamRefused('unavailable', `the metadata of the provider: ${text}`)
  }

  const write = async (statement: Parameters<typeof storage.append>[0][number]): Promise<void> => {
    try {
      await storage.append([statement])
    } catch (error) {
      // Deleted meanwhile.
      if (!(error instanceof ConstraintError && error.table === 'identity_provider_metadata'))
        throw error
    }
  }

  const readAgain = async (
    provider: Provider,
    row: ProviderMetadataRow | undefined,
    signal?: AbortSignal,
  ): Promise<IdpMetadata> => {
    const { metadataUrl = '', metadataCertificate, metadataRefresh, idpEntityId } = provider.config
    const everyMs = metadataRefresh === undefined ? dayMs : milliseconds(metadataRefresh)
    try {
      const received = await fetchMetadata(metadataUrl, signal)
      const keys = metadataKeys(metadataCertificate)
      const now = clock.now()
      const metadata = readIdpMetadata(received, { now, entityId: idpEntityId, keys })
      const nextAt = Math.min(now + everyMs, metadata.validUntil)
      await write(rows.succeeded(provider, metadata, { readAt: now, nextAt }))
      return metadata
    } catch (error) {
      if (signal?.aborted) throw error
      const failure = reasonOf(error)
      const now = clock.now()
      const nextAt = now + Math.min(everyMs, retryMs)
      const isSame = row?.source === sourceOf(provider)
      await write(rows.failed(provider, isSame, { failure, failedAt: now, nextAt }))
      return unavailable(failure)
    }
  }

  /** One request for all sign-ins that wait for it. */
  const readOnce = (
    provider: Provider,
    row: ProviderMetadataRow | undefined,
    signal?: AbortSignal,
  ): Promise<IdpMetadata> => {
    const key = `${provider.id} ${sourceOf(provider)}`
    const before = underWay.get(key)
    if (before !== undefined) return before
    const work = readAgain(provider, row, signal).finally(() => underWay.delete(key))
    underWay.set(key, work)
    return work
  }

  const ofDocument = (provider: Provider, xml: string): IdpMetadata => {
    const { config } = provider
    const known = inDocument.get(provider.id)
    if (known?.xml === xml && known.metadata.validUntil > clock.now()) return known.metadata
    try {
      const question = { now: clock.now(), entityId: config.idpEntityId }
      const metadata = readIdpMetadata(xml, question)
      if (inDocument.size >= mostKept) inDocument.clear()
      inDocument.set(provider.id, { xml, metadata })
      return metadata
    } catch (error) {
      return unavailable(`metadataXml: ${reasonOf(error)}`)
    }
  }

  const stored = async (provider: Provider) => {
    const row = await rows.of(provider.id)
    return row?.source === sourceOf(provider) ? row : undefined
  }

  return {
    /** Undefined where the document names no metadata. */
    of: async (provider: Provider): Promise<IdpMetadata | undefined> => {
      const { metadataXml, metadataUrl } = provider.config
      if (metadataXml !== undefined) return ofDocument(provider, metadataXml)
      if (metadataUrl === undefined) return undefined
      const row = await stored(provider)
      const known = row && metadataIn(row)
      if (known && known.validUntil > clock.now()) return known
      if (row?.failed_at && row.failed_at > clock.now() - pauseMs)
        return unavailable(row.failure ?? 'cannot be read')
      return readOnce(provider, row)
    },
    /** For a signature by an unknown key; undefined where there is no address, or it was read a moment ago. */
    afresh: async (provider: Provider): Promise<IdpMetadata | undefined> => {
      if (provider.config.metadataUrl === undefined) return undefined
      const row = await stored(provider)
      const last = Math.max(row?.read_at ?? 0, row?.failed_at ?? 0)
      return last > clock.now() - pauseMs ? undefined : readOnce(provider, row)
    },
    /** Reads it if it is due. */
    refresh: async (provider: Provider, signal: AbortSignal): Promise<void> => {
      if (provider.config.metadataUrl === undefined) return
      const row = await stored(provider)
      if (row && row.next_at > clock.now()) return
      await readOnce(provider, row, signal).catch((error) => {
        if (!(error instanceof UpstreamRefused) && !signal.aborted) throw error
      })
    },
    status: stored,
  }
}

export type IdpMetadataReads = ReturnType<typeof createIdpMetadata>
