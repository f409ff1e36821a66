/**
 * The artifact binding (SAML Bindings §3.6): the browser brings a reference, and the Response is fetched over SOAP (SAML Core
 * §3.5). The reference must name the provider, and the answer must be to our request.
 */

import { createHash } from 'node:crypto'
import type { ClientIdentity, Outgoing } from '#server/platform/outgoing/client.ts'
import {
  element,
  instant,
  newMessageId,
  type SigningKey,
  signElement,
  xmlName,
} from '#server/xml/index.ts'
import { gated, notAllowed, refuse } from './refuse.ts'
import { checkIssuer, checkMade, checkSuccess } from './response/header.ts'
import type { ResponseRules } from './response/rules.ts'
import { type Part, readPart } from './response/signed-parts.ts'
import { longestEnvelope, sendSoapRequest } from './soap.ts'
import type { Upstream } from './upstream.ts'

/** Type 0x0004: two bytes of type, two of index, twenty of the source, twenty of the message (§3.6.4). */
const size = 44

/** The index of the resolution service; refused where the artifact is of another provider. */
const indexIn = (artifact: string, entityId: string): number => {
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(artifact)
    ? Buffer.from(artifact, 'base64')
    : Buffer.alloc(0)
  if (bytes.length !== size || bytes.readUInt16BE(0) !== 4)
    return refuse('SAMLart is not an artifact of type 0x0004')
  const source = createHash('sha1').update(entityId).digest()
  if (!bytes.subarray(4, 24).equals(source)) refuse('the artifact is of another provider')
  return bytes.readUInt16BE(2)
}

export interface ResolveParts {
  readonly outgoing: Pick<Outgoing, 'request'>
}

export interface Resolution {
  readonly artifact: string
  readonly upstream: Upstream
  readonly spEntityId: string
  readonly now: number
  readonly key: SigningKey
  /** For mutual TLS. */
  readonly client?: ClientIdentity | undefined
}

/** What the provider sent for an artifact, and the request that it must answer. */
export interface Resolved {
  readonly received: string
  readonly id: string
}

export const resolveArtifact = async (
  parts: ResolveParts,
  { artifact, upstream, spEntityId, now, key, client }: Resolution,
): Promise<Resolved> => {
  const index = indexIn(artifact, upstream.entityId)
  const url =
    upstream.artifactUrl(index) ??
    notAllowed(
      `the provider has no artifact resolution service ${index}; set artifactResolutionServiceUrl`,
    )
  const id = newMessageId()
  const request = element(
    'samlp:ArtifactResolve',
    { ID: id, Version: '2.0', IssueInstant: instant(now), Destination: url },
    [element('saml:Issuer', {}, spEntityId), element('samlp:Artifact', {}, artifact)],
  )
  const message = await signElement(request, key)
  const service = 'artifact resolution service'
  return { received: await sendSoapRequest(parts, { service, url, message, client }), id }
}

/** The ArtifactResponse, which holds the Response. */
export const artifactResponseIn = ({ received, id }: Resolved, rules: ResponseRules): Part =>
  gated(() => {
    const part = readPart(
      {
        received,
        limit: longestEnvelope,
        root: xmlName('soap:Envelope'),
        path: [xmlName('soap:Body'), xmlName('samlp:ArtifactResponse')],
        isCovered: false,
        isFetched: true,
      },
      rules.keys,
    )
    checkMade(part.element, rules)
    checkIssuer(part.element, rules)
    if (part.element.attributes['InResponseTo'] !== id)
      refuse('the ArtifactResponse is to another request')
    checkSuccess(part.element)
    return part
  })
