/**
 * Reads the metadata of service providers again: of those with `metadataRefresh`, when it is due. The fields that follow the
 * metadata (metadata-fields.ts) are written by the system as a revision of its own, so that drift names it; a key that left the
 * metadata is trusted no longer on any node. A document that cannot be read, is not signed as it must be or has expired
 * changes nothing: it is reported as an event and by `GET …/saml/status`, and tried again.
 */

import type { Doc } from '#schemas/json-schema.ts'
import { SamlClient, type SamlClientDoc } from '#schemas/kinds/clients/saml-client.ts'
import { Problem } from '#schemas/problems.ts'
import { milliseconds } from '#schemas/text/durations.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { systemCaller } from '#server/http/caller.ts'
import type { Clock } from '#server/platform/clock.ts'
import { editOf, type WriteChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { FetchMetadata } from '#server/saml-metadata/fetch-metadata.ts'
import { metadataKeys } from '#server/saml-metadata/metadata-keys.ts'
import { MetadataRefused } from '#server/saml-metadata/metadata-refused.ts'
import { ConstraintError } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { followedFields, mergedFields } from './metadata-fields.ts'
import type { MetadataReads } from './metadata-reads.ts'
import { readSpMetadata, type SpMetadata } from './sp-metadata.ts'

export interface RefreshParts {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly writer: Writer
  readonly reads: MetadataReads
  readonly fetchMetadata: FetchMetadata
}

const metadataChannel: WriteChannel = { via: 'metadata', origin: 'manual', owner: null }

/** After a failure, unless the metadata is read more often anyway. */
const retryMs = 3_600_000
/** Requests under way at the same time. */
const atOnce = 8

/** A service provider whose metadata is read. */
interface Followed {
  readonly document: StoredDocument
  readonly url: string
  readonly everyMs: number
  readonly certificate: string | undefined
}

/** Whether a document still asks for the read that was made for it. */
const asksFor = ({ document }: Followed, now: Doc): boolean =>
  (['metadataUrl', 'metadataRefresh', 'metadataCertificate'] as const).every(
    (field) => now[field] === document.body[field],
  )

const followedIn = (document: StoredDocument): Followed[] => {
  const { enabled, metadataUrl, metadataRefresh, metadataCertificate } =
    contentOf<SamlClientDoc>(document)
  if (!enabled || metadataUrl === undefined || metadataRefresh === undefined) return []
  const everyMs = milliseconds(metadataRefresh)
  return [{ document, url: metadataUrl, everyMs, certificate: metadataCertificate }]
}

const messageOf = (error: unknown): string | undefined => {
  if (error instanceof MetadataRefused) return `${error.place}: ${error.message}`
  return error instanceof Problem ? error.message : undefined
}

export const createMetadataRefresh = (parts: RefreshParts) => {
  const { clock, recorder, writer, reads, fetchMetadata } = parts

  const eventOf = (
    { realm, id }: StoredDocument,
    outcome: AuditEvent['outcome'],
    detail: string,
  ): AuditEvent => ({
    type: 'SAML_METADATA_REFRESH',
    realm,
    actor: systemCaller.actor,
    sourceIp: systemCaller.sourceIp,
    outcome,
    resourceType: SamlClient.resourceType,
    resourceId: id,
    detail,
  })

  const readAt = async (
    { document, url, certificate }: Followed,
    signal: AbortSignal,
  ): Promise<SpMetadata> => {
    const keys = metadataKeys(certificate)
    const received = await fetchMetadata(url, signal)
    return readSpMetadata(received, { now: clock.now(), entityId: document.key, keys })
  }

  const write = async (followed: Followed, metadata: SpMetadata): Promise<void> => {
    const { document, url, everyMs } = followed
    const { realm, id, key } = document
    const fields = followedFields(metadata)
    let isAsked = true
    await writer.write({
      realm,
      caller: systemCaller,
      channel: metadataChannel,
      message: `the metadata at ${url} has changed`,
      operations: [
        // Another address or certificate may have been written meanwhile: it is due still.
        editOf(SamlClient, { id, key }, (before) => {
          isAsked = asksFor(followed, before)
          return isAsked ? mergedFields(before, fields) : before
        }),
      ],
      alongside: (effects) => {
        if (!isAsked) return { statements: [], events: [] }
        // Not before the time of its own change, which would make it due again.
        const now = clock.now()
        const { validUntil } = metadata
        const nextAt = Math.min(now + everyMs, validUntil)
        return {
          statements: reads.succeeded({ document, url, readAt: now, validUntil, nextAt }),
          events: effects.length === 0 ? [] : [eventOf(document, 'SUCCESS', url)],
        }
      },
    })
  }

  const refresh = async (followed: Followed, signal: AbortSignal): Promise<void> => {
    try {
      await write(followed, await readAt(followed, signal))
    } catch (error) {
      // The server stops: it is due still.
      if (signal.aborted) return
      // Deleted or renamed meanwhile.
      if (error instanceof Problem && error.code === 'not-found') return
      const failure = messageOf(error)
      if (failure === undefined) throw error
      const { document, url, everyMs } = followed
      const now = clock.now()
      const nextAt = now + Math.min(everyMs, retryMs)
      try {
        await recorder.commit(reads.failed({ document, url, failure, failedAt: now, nextAt }), [
          eventOf(document, 'FAILURE', `${url}: ${failure}`),
        ])
      } catch (cause) {
        // Deleted meanwhile.
        if (!(cause instanceof ConstraintError && cause.table === 'saml_metadata_reads'))
          throw cause
      }
    }
  }

  /** Everything of a realm that is due. One that fails does not keep the others from being read. */
  return async (view: RealmView, signal: AbortSignal): Promise<void> => {
    const followed = (await view.list(SamlClient.kind)).flatMap(followedIn)
    if (followed.length === 0) return
    const known = new Map((await reads.of(view.realm)).map((row) => [row.client_id, row]))
    const due = followed.filter(({ document, url }) => {
      const row = known.get(document.id)
      if (row === undefined || row.url !== url || row.next_at <= clock.now()) return true
      // Changed since: it may be asked for more often, or by another certificate.
      return document.updatedAt > Math.max(row.read_at ?? 0, row.failed_at ?? 0)
    })
    const work = due.values()
    const errors: unknown[] = []
    const worker = async (): Promise<void> => {
      for (const one of work)
        if (!signal.aborted) await refresh(one, signal).catch((error) => errors.push(error))
    }
    await Promise.all(Array.from({ length: Math.min(atOnce, due.length) }, worker))
    if (errors.length > 0) throw new AggregateError(errors, 'metadata could not be refreshed')
  }
}
