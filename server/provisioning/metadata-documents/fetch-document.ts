/**
 * Reads a client metadata document (draft-ietf-oauth-client-id-metadata-document-02 §4): through the guarded client, without
 * redirects, small, JSON, and about the address that it is at.
 */

import { isObject } from '#schemas/json-schema.ts'
import { Problem } from '#schemas/problems.ts'
import { parseJsonBytes } from '#server/http/json.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { RegistrationError } from '../dcr/errors.ts'
import { type Metadata, readMetadata } from '../dcr/metadata.ts'

/** Why a document is not one of a client; the message is for the developer of the client. */
export class DocumentRefused extends Error {
  override readonly name = 'DocumentRefused'
}

export interface FetchedDocument {
  readonly metadata: Metadata
  /** How long it is good, in milliseconds. */
  readonly freshMs: number
}

const longestDocument = 64 * 1024
const timeoutMs = 5000
const shortestFreshMs = 5 * 60_000
const longestFreshMs = 24 * 3_600_000
/** A document is public: what is shared by all that read it proves nothing (§4.1). */
const withoutSecret = new Set(['none', 'private_key_jwt'])

/** RFC 9111 §4.2.1, within the bounds. */
const freshnessOf = (headers: Readonly<Record<string, string>>): number => {
  const control = (headers['cache-control'] ?? '').toLowerCase()
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,9})/.exec(control) ?? []
  const isKept = seconds !== undefined && !/no-(?:store|cache)/.test(control)
  const wanted = isKept ? Number(seconds) * 1000 : shortestFreshMs
  return Math.min(Math.max(wanted, shortestFreshMs), longestFreshMs)
}

const isJsonType = (type = ''): boolean =>
  /^application\/(?:[\w.-]+\+)?json$/.test(type.toLowerCase().split(';')[0]?.trim() ?? '')

const parsed = (body: Uint8Array): unknown => {
  try {
    return parseJsonBytes(body)
  } catch (error) {
    if (error instanceof Problem) throw new DocumentRefused('it is not JSON')
    throw error
  }
}

/** The metadata of a document that was read at its address. */
const metadataIn = (clientId: string, document: unknown): Metadata => {
  if (!isObject(document)) throw new DocumentRefused('it is not a JSON object')
  if (document['client_id'] !== clientId)
    throw new DocumentRefused('its client_id is not its address, byte for byte')
  if ('client_secret' in document || 'client_secret_expires_at' in document)
    throw new DocumentRefused('it must not have a client_secret')
  try {
    const { software_statement: _, ...metadata } = readMetadata(document)
    const method = metadata.token_endpoint_auth_method ?? 'none'
    if (!withoutSecret.has(method))
      throw new DocumentRefused('token_endpoint_auth_method must be none or private_key_jwt')
    return { ...metadata, token_endpoint_auth_method: method }
  } catch (error) {
    if (error instanceof RegistrationError) throw new DocumentRefused(error.message)
    throw error
  }
}

export const createFetchDocument =
  (outgoing: Pick<Outgoing, 'request'>) =>
  async (clientId: string): Promise<FetchedDocument> => {
    const { status, headers, body } = await outgoing
      .request({
        url: clientId,
        schemes: ['https'],
        headers: { accept: 'application/json' },
        maxBytes: longestDocument,
        timeoutMs,
      })
      .catch((error: unknown) => {
        // The same for each reason: anonymous callers can ask, and must not learn what answers where.
        if (error instanceof OutgoingError) throw new DocumentRefused('it cannot be read')
        throw error
      })
    if (status !== 200) throw new DocumentRefused(`answered with status ${status}; 200 is needed`)
    if (!isJsonType(headers['content-type']))
      throw new DocumentRefused('its Content-Type must be application/json')
    return { metadata: metadataIn(clientId, parsed(body)), freshMs: freshnessOf(headers) }
  }

export type FetchDocument = ReturnType<typeof createFetchDocument>
