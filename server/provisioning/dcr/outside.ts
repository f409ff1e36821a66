/**
 * The URLs that a registration names: the sector identifier (OIDC Registration §5), the addresses of keys and logouts, the
 * logo. A registration could make the server call any of them, so that each goes through the guarded client
 * (CVE-2026-1180).
 */

import { isObject } from '#schemas/json-schema.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { invalidMetadata } from './errors.ts'
import type { Metadata } from './metadata.ts'

export type Outside = Pick<Outgoing, 'request' | 'checkUrl'>

/** A picture becomes part of the document, which has 32,768 characters for it. */
const longestLogo = 24_000
const longestList = 64 * 1024
const pictureTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml']

const called = [
  'jwks_uri',
  'backchannel_logout_uri',
  'backchannel_client_notification_endpoint',
] as const

/**
 * Refuses an address that is none of the public internet by what it says. Names are not resolved here: the answer would tell
 * which names an internal name server knows. Every later request to the address is checked again.
 */
const checkCalled = (outgoing: Outside, metadata: Metadata): void => {
  for (const name of called) {
    const address = metadata[name]
    if (address === undefined) continue
    try {
      outgoing.checkUrl(address)
    } catch (error) {
      if (error instanceof OutgoingError) throw invalidMetadata(`${name}: ${error.message}`)
      throw error
    }
  }
}

const checkSector = async (
  outgoing: Outside,
  { sector_identifier_uri: url, redirect_uris = [] }: Metadata,
): Promise<void> => {
  if (url === undefined) return
  const refuse = (reason: string) => invalidMetadata(`sector_identifier_uri: ${reason}`)
  const answer = await outgoing
    .request({
      url,
      schemes: ['https'],
      headers: { accept: 'application/json' },
      maxBytes: longestList,
    })
    .catch((error: unknown) => {
      // The same for each reason: the server is no means to find out what answers where.
      if (error instanceof OutgoingError) throw refuse('the list cannot be read at this address')
      throw error
    })
  if (answer.status !== 200) throw refuse(`answered with status ${answer.status}; 200 is needed`)
  let listed: unknown
  try {
    listed = JSON.parse(Buffer.from(answer.body).toString())
  } catch {
    throw refuse('the answer is not JSON')
  }
  if (!Array.isArray(listed)) throw refuse('the answer must be a list of redirect URIs')
  const missing = redirect_uris.find((uri) => !listed.includes(uri))
  if (missing !== undefined) throw refuse(`the list does not have "${missing}"`)
}

const httpsHost = (uri: string): string | undefined => {
  const url = URL.parse(uri)
  return url?.protocol === 'https:' ? url.hostname : undefined
}

/**
 * The logo for the consent page: its address where it is at a host of the redirect URIs, else the picture itself, so that no
 * third host learns which users are asked (docs/decisions/consent-page.md). A picture that is out of reach, too large or none
 * is left out: the client works without.
 */
const logoFor = async (
  outgoing: Outside,
  { logo_uri: url, redirect_uris = [] }: Metadata,
): Promise<string | undefined> => {
  if (url === undefined) return undefined
  const host = httpsHost(url)
  if (host !== undefined && redirect_uris.some((uri) => httpsHost(uri) === host)) return url
  try {
    const { status, headers, body } = await outgoing.request({
      url,
      headers: { accept: pictureTypes.join(', ') },
      maxBytes: longestLogo,
    })
    const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';')
    if (status !== 200 || body.length === 0 || !pictureTypes.includes(type.trim())) return undefined
    return `data:${type.trim()};base64,${Buffer.from(body).toString('base64')}`
  } catch (error) {
    if (error instanceof OutgoingError) return undefined
    throw error
  }
}

/** Private keys have no place in a registration (RFC 7517 §4); the document's schema checks the rest. */
const checkKeys = ({ jwks }: Metadata): void => {
  const keys: readonly unknown[] = Array.isArray(jwks?.['keys']) ? jwks['keys'] : []
  if (keys.some((key) => isObject(key) && ('d' in key || key['kty'] === 'oct')))
    throw invalidMetadata('jwks must have public keys only')
}

/** Throws where an address is refused; answers the logo. */
export const checkOutside = async (
  outgoing: Outside,
  metadata: Metadata,
): Promise<{ readonly logoUri?: string }> => {
  checkKeys(metadata)
  checkCalled(outgoing, metadata)
  await checkSector(outgoing, metadata)
  const logoUri = await logoFor(outgoing, metadata)
  return logoUri === undefined ? {} : { logoUri }
}
