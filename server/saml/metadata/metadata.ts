/**
 * The metadata of a realm's identity provider (SAML Metadata §2.3, §2.4), signed. It is the same to the byte on every path and
 * every node for an hour: all that is in it follows from the realm, its keys and the hour.
 */

import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nameIdFormats } from '#schemas/drivers/saml.ts'
import { isKnown } from '#server/http/etag.ts'
import type { RealmKey } from '#server/keys/realm-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { createPublishedKeys } from '#server/tokens/published-keys.ts'
import {
  acceptedDigestMethods,
  acceptedSignatureMethods,
  element,
  namespaces,
  signElement,
  type Template,
  writeElement,
} from '#server/xml/index.ts'
import { entityIdOf, metadataPath, type RealmRoute, urlOf } from '../addresses.ts'
import { describeMetadata } from '../description.ts'
import { SamlRefused } from '../errors.ts'

/** An endpoint of the role, as the metadata names it. Only what is served is listed. */
export interface MetadataService {
  readonly name: 'ArtifactResolutionService' | 'SingleLogoutService' | 'SingleSignOnService'
  readonly binding: string
  /** Below the realm. */
  readonly path: string
  readonly index?: number
}

export interface MetadataParts {
  readonly clock: Clock
  readonly issuers: Issuers
  readonly publishedKeys: ReturnType<typeof createPublishedKeys>
  readonly services: readonly MetadataService[]
}

const hourMs = 3_600_000
/** The next key is there long before it signs: an hour is soon enough to read it. */
const cacheDuration = 'PT1H'
/** Short, because a cache in front of us delays the first day of a new key by as much. */
const maxAgeSeconds = 60

const keyDescriptor = ({ certificate }: RealmKey): Template =>
  element('md:KeyDescriptor', { use: 'signing' }, [
    element('ds:KeyInfo', {}, [
      element('ds:X509Data', {}, [element('ds:X509Certificate', {}, certificate)]),
    ]),
  ])

const serviceOf = ({ url }: Issuer, { name, binding, path, index }: MetadataService): Template =>
  element(`md:${name}`, {
    Binding: binding,
    Location: `${url}${path}`,
    index: index === undefined ? undefined : String(index),
  })

const roleOf = (
  issuer: Issuer,
  keys: readonly RealmKey[],
  services: readonly MetadataService[],
): Template => {
  const named = (name: MetadataService['name']): Template[] =>
    services.filter((one) => one.name === name).map((one) => serviceOf(issuer, one))
  return element(
    'md:IDPSSODescriptor',
    {
      WantAuthnRequestsSigned: String(issuer.settings.saml.wantAuthnRequestsSigned),
      protocolSupportEnumeration: namespaces.samlp,
    },
    [
      ...keys.map(keyDescriptor),
      ...named('ArtifactResolutionService'),
      ...named('SingleLogoutService'),
      ...Object.values(nameIdFormats).map((format) => element('md:NameIDFormat', {}, format)),
      ...named('SingleSignOnService'),
    ],
  )
}

/** Algorithms that requests may be signed with (SAML Metadata Profile for Algorithm Support §2). */
const algorithms = element('md:Extensions', {}, [
  ...acceptedDigestMethods.map((Algorithm) => element('alg:DigestMethod', { Algorithm })),
  ...acceptedSignatureMethods.map((Algorithm) => element('alg:SigningMethod', { Algorithm })),
])

interface Made {
  readonly issuer: Issuer['view']
  readonly signers: string
  readonly hour: number
  readonly text: Promise<{ readonly xml: string; readonly etag: string }>
}

export const metadataRoutes = (parts: MetadataParts) => {
  const { clock, issuers, publishedKeys, services } = parts
  const known = new Map<string, Made>()

  const make = async (issuer: Issuer, keys: readonly RealmKey[], hour: number) => {
    const [signer] = keys
    if (!signer) throw new Error(`realm ${issuer.name} has no signing key`)
    const lifetime = issuer.settings.saml.metadataLifetimeSeconds * 1000
    const attributes = {
      cacheDuration,
      entityID: entityIdOf(issuer),
      validUntil: new Date(hour * hourMs + hourMs + lifetime).toISOString(),
    }
    const content = [algorithms, roleOf(issuer, keys, services)]
    const plain = writeElement(element('md:EntityDescriptor', attributes, content))
    const ID = `_${createHash('sha256').update(plain).digest('hex')}`
    const xml = writeElement(
      await signElement(element('md:EntityDescriptor', { ID, ...attributes }, content), signer),
    )
    return { xml, etag: `"${createHash('sha256').update(xml).digest('base64url')}"` }
  }

  const metadataOf = async (issuer: Issuer): Promise<Awaited<Made['text']>> => {
    // With the next one, so that service providers that read metadata follow a rotation by themselves.
    const keys = (await publishedKeys(issuer)).signers()
    const signers = keys.map(({ kid }) => kid).join(' ')
    const hour = Math.floor(clock.now() / hourMs)
    const before = known.get(issuer.name)
    if (before?.issuer === issuer.view && before.hour === hour && before.signers === signers)
      return before.text
    const text = make(issuer, keys, hour)
    known.set(issuer.name, { issuer: issuer.view, signers, hour, text })
    text.catch(() => known.delete(issuer.name))
    return text
  }

  const read = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const issuer = await issuers.known(request.params.realm)
    if (!issuer) throw new SamlRefused('There is no such realm.', { status: 404 })
    const { xml, etag } = await metadataOf(issuer)
    reply
      .header('cache-control', `public, max-age=${maxAgeSeconds}`)
      .header('etag', etag)
      .type('application/samlmetadata+xml')
    return isKnown(request.headers['if-none-match'], etag)
      ? reply.code(304).send()
      : reply.send(xml)
  }

  return (app: FastifyInstance): void => {
    app.get<RealmRoute>(urlOf(metadataPath), describeMetadata('read-saml-metadata'), read)
    app.get<RealmRoute>(
      `/:realm${metadataPath}`,
      describeMetadata('read-saml-metadata-by-short-path'),
      read,
    )
  }
}
