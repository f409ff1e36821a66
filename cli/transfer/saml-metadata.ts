/** A realm file with a service provider, from its metadata: from a file without a server, or from an address. */

import { buffer } from 'node:stream/consumers'
import type { Doc } from '#schemas/json-schema.ts'
import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'
import { compact } from '#schemas/normalize.ts'
import { isLoopback } from '../client/address.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { readNamed } from '../named-file.ts'

export interface MetadataRequest {
  /** A file, `-` for stdin, or an address. */
  readonly from: string
  readonly realm: string
  readonly entityId: string | undefined
  readonly timeoutMs: number
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A realm file: the realm's name and one section. */
export type RealmFile = Doc & { readonly realm: string }

const isAddress = (from: string): boolean => /^https?:\/\//i.test(from)

const failed = (from: string, reason: string, hint: string): CommandError =>
  new CommandError(exitCodes.error, `${from} ${reason}`, { hint })

const fetched = async ({ from, timeoutMs, env }: MetadataRequest): Promise<Buffer> => {
  const url = URL.parse(from)
  if (!url) throw failed(from, 'is not a valid address', 'give a file, or an https address')
  if (url.protocol === 'http:' && !isLoopback(url.origin))
    throw failed(from, 'is not encrypted, so its keys could be exchanged on the way', 'use https')
  const [{ createHttp }, { withHint }] = await Promise.all([
    import('../client/http/http.ts'),
    import('../client/http/errors.ts'),
  ])
  const http = createHttp({ server: url.origin, timeoutMs, slowTimeoutMs: timeoutMs, env })
  try {
    const { status, body } = await http.send({
      method: 'GET',
      path: url.pathname + url.search,
      headers: { accept: 'application/samlmetadata+xml, application/xml, text/xml' },
    })
    if (status !== 200 || typeof body !== 'string')
      throw failed(
        from,
        `answers with status ${status}, not with metadata`,
        'give the address of the metadata itself; redirects are not followed',
      )
    return Buffer.from(body)
  } catch (error) {
    throw withHint(error, 'check the address; or save the metadata, and name the file')
  } finally {
    await http.close()
  }
}

const received = (request: MetadataRequest): Promise<Buffer> => {
  if (isAddress(request.from)) return fetched(request)
  return request.from === '-' ? buffer(process.stdin) : readNamed(request.from)
}

/** Metadata that is published at an address is read from there again. */
const followed = (from: string): Doc =>
  isAddress(from) ? { metadataUrl: from, metadataRefresh: '1d' } : {}

export const realmFileFrom = async (request: MetadataRequest): Promise<RealmFile> => {
  const { from, realm, entityId } = request
  const bytes = await received(request)
  const { spDocument } = await import('#server/saml/metadata/sp-document.ts')
  const read = spDocument(bytes, { now: Date.now(), entityId })
  if ('refused' in read) {
    const { place, message } = read.refused
    const named = place === 'entityId' ? '--entity-id' : place
    throw new CommandError(exitCodes.invalid, `${from}: ${named}: ${message}`, {
      hint:
        place === 'entityId'
          ? 'give --entity-id'
          : 'ask the operator of the service provider for correct metadata',
    })
  }
  const document = compact(SamlClient, { ...read.fields, ...followed(from) })
  return { realm, [SamlClient.section]: [document] }
}
