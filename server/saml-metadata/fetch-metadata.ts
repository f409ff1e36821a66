/** Metadata from the address where an entity publishes it, through the guarded client. */

import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { METADATA_LIMIT, readBytes } from '#server/xml/index.ts'
import { asMetadataRefused, refuseAt } from './metadata-refused.ts'

export type FetchMetadata = (url: string, signal?: AbortSignal) => Promise<string>

/** The text of the document; a `MetadataRefused` at `url` where there is none. Redirects are not followed. */
export const createFetchMetadata =
  (outgoing: Pick<Outgoing, 'request'>): FetchMetadata =>
  async (url, signal) => {
    try {
      const { status, body } = await outgoing.request({
        url,
        headers: { accept: 'application/samlmetadata+xml, application/xml, text/xml' },
        maxBytes: METADATA_LIMIT,
        signal,
      })
      if (status !== 200) refuseAt('url', 'fetch', `answered with status ${status}; 200 is needed`)
      return readBytes(Buffer.from(body), METADATA_LIMIT)
    } catch (error) {
      if (error instanceof OutgoingError) return refuseAt('url', error.code, error.message)
      throw asMetadataRefused(error)
    }
  }
