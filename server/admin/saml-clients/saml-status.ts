/**
 * GET …/saml/status: the state of the SAML identity provider that is no configuration. Which keys signed for which service
 * provider in the last 30 days, until when certificates are valid, and how the last read of metadata ended.
 */

import { X509Certificate } from 'node:crypto'
import { pinnedUntil, SamlClient, type SamlClientDoc } from '#schemas/kinds/clients/saml-client.ts'
import { certificateFacts, readCertificate } from '#schemas/public-keys/certificates.ts'
import { type KeyStatus, keyStatuses, type SamlStatus } from '#schemas/wire/records.ts'
import { keyStates } from '#server/keys/key-state.ts'
import { keysOfOwner } from '#server/keys/signing-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { SamlArea } from '#server/saml/open.ts'
import type { Storage } from '#server/storage/contract.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { type Action, bodyOf } from '../action.ts'

export interface SamlStatusParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly saml: Pick<SamlArea, 'keyUses' | 'metadataReads'>
}

type Provider = SamlStatus['serviceProviders'][number]

const time = (description: string) => ({ type: ['integer', 'null'], description })
const facts = {
  subject: { type: 'string' },
  expires: { type: 'string', format: 'date' },
  sha256: { type: 'string' },
} as const

const schema = bodyOf({
  signingKeys: {
    type: 'array',
    items: bodyOf({
      kid: { type: 'string', format: 'uuid' },
      status: { type: 'string', enum: [...keyStatuses] },
      ...facts,
    }),
  },
  serviceProviders: {
    type: 'array',
    items: bodyOf({
      entityId: { type: 'string' },
      enabled: { type: 'boolean' },
      keysUsed: {
        type: 'array',
        description: 'Keys that signed for it in the last 30 days, the latest first.',
        items: bodyOf({ kid: { type: 'string' }, usedAt: { type: 'integer' } }),
      },
      pinned: {
        oneOf: [
          bodyOf({
            kid: { type: 'string', format: 'uuid' },
            until: time('When the pin ends; null: when it is removed.'),
            isKnown: { type: 'boolean', description: 'Whether the realm has the key.' },
          }),
          { type: 'null' },
        ],
      },
      certificates: {
        type: 'array',
        items: bodyOf({ field: { type: 'string' }, ...facts }),
      },
      metadata: {
        oneOf: [
          bodyOf({
            url: { type: 'string' },
            readAt: time('The last time that it could be read.'),
            validUntil: time('Of what was read then.'),
            failedAt: time('The last attempt, where it failed.'),
            failure: { type: ['string', 'null'] },
          }),
          { type: 'null' },
        ],
      },
    }),
  },
})

const certificatesOf = (doc: SamlClientDoc): Provider['certificates'] =>
  [
    ['signingCertificate', doc.signingCertificate] as const,
    ...doc.certificates.map((text) => ['certificates', text] as const),
    ['encryptionCertificate', doc.encryptionCertificate] as const,
    ['metadataCertificate', doc.metadataCertificate] as const,
  ].flatMap(([field, text]) => {
    const certificate = text === undefined ? undefined : readCertificate(text)
    return certificate ? [{ field, ...certificateFacts(certificate) }] : []
  })

export const samlStatus = ({ storage, clock, saml }: SamlStatusParts): Action => {
  const pinOf = (
    { pinnedKey }: SamlClientDoc,
    known: ReadonlyMap<string, KeyStatus>,
  ): Provider['pinned'] => {
    if (pinnedKey === undefined) return null
    const until = pinnedUntil(pinnedKey)
    if (until <= clock.now()) return null
    return {
      kid: pinnedKey.kid,
      until: Number.isFinite(until) ? until : null,
      isKnown: known.has(pinnedKey.kid),
    }
  }

  return {
    operationId: 'read-saml-status',
    method: 'GET',
    path: '/saml/status',
    permission: 'view-clients',
    resourceType: SamlClient.resourceType,
    summary: 'Keys in use by service providers, ends of certificates, and reads of metadata',
    reply: { status: 200, schema },
    handle: async ({ realm, view }): Promise<SamlStatus> => {
      const keys = keyStates(await keysOfOwner(storage, { realm, clientId: null }), clock.now())
      const known = new Map(keys.map(({ row, status }) => [row.id, status]))
      const uses = Map.groupBy(await saml.keyUses.of(realm), ({ client_id }) => client_id)
      const reads = new Map((await saml.metadataReads.of(realm)).map((row) => [row.client_id, row]))
      const providerOf = (document: StoredDocument): Provider => {
        const doc = contentOf<SamlClientDoc>(document)
        const read = reads.get(document.id)
        return {
          entityId: document.key,
          enabled: doc.enabled,
          keysUsed: (uses.get(document.id) ?? []).map(({ kid, used_at }) => ({
            kid,
            usedAt: used_at,
          })),
          pinned: pinOf(doc, known),
          certificates: certificatesOf(doc),
          metadata:
            read && doc.metadataRefresh !== undefined
              ? {
                  url: read.url,
                  readAt: read.read_at,
                  validUntil: read.valid_until,
                  failedAt: read.failed_at,
                  failure: read.failure,
                }
              : null,
        }
      }
      return {
        signingKeys: keys.map(({ row, status }) => ({
          kid: row.id,
          status,
          ...certificateFacts(new X509Certificate(Buffer.from(row.certificate, 'base64'))),
        })),
        serviceProviders: (await view.list(SamlClient.kind)).map(providerOf),
      }
    },
  }
}
