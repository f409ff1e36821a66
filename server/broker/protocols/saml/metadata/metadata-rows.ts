/** What was last read of the metadata of each provider with `metadataUrl`: all nodes work with the same keys. */

import { X509Certificate } from 'node:crypto'
import { sha256 } from '#server/platform/random.ts'
import type { IdpMetadata } from '#server/saml-metadata/idp-metadata.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { ProviderMetadataRow } from '#server/storage/tables/saml-tables.ts'
import { printable } from '#server/users/names.ts'
import type { Provider } from '../../../protocol.ts'

/** As much of a reason as is kept. */
const longestFailure = 1000

/** What the read depends on: another address, certificate or entity is another read. */
export const sourceOf = ({ config }: Pick<Provider, 'config'>): string =>
  sha256(JSON.stringify([config.metadataUrl, config.metadataCertificate, config.idpEntityId]))

type Stored = Omit<IdpMetadata, 'signing' | 'validUntil'> & { readonly signing: readonly string[] }

const toText = ({ signing, validUntil: _, ...others }: IdpMetadata): string =>
  JSON.stringify({
    ...others,
    signing: signing.map(({ raw }) => raw.toString('base64')),
  } satisfies Stored)

export const metadataIn = ({
  metadata,
  valid_until,
}: ProviderMetadataRow): IdpMetadata | undefined => {
  if (metadata === null) return undefined
  const { signing, ...others } = JSON.parse(metadata) as Stored
  return {
    ...others,
    validUntil: valid_until ?? Number.POSITIVE_INFINITY,
    signing: signing.map((text) => new X509Certificate(Buffer.from(text, 'base64'))),
  }
}

type Outcome = Pick<ProviderMetadataRow, 'next_at'> & Partial<ProviderMetadataRow>

export const createMetadataRows = ({
  storage: { db },
}: {
  readonly storage: Pick<Storage, 'db'>
}) => {
  const upsert = (provider: Provider, outcome: Outcome): Statement => {
    const changed = { source: sourceOf(provider), ...outcome }
    const none = {
      metadata: null,
      read_at: null,
      valid_until: null,
      failed_at: null,
      failure: null,
    }
    return statement(
      db
        .insertInto('identity_provider_metadata')
        .values({ ...none, provider_id: provider.id, realm: provider.realm, ...changed })
        .onConflict((conflict) => conflict.column('provider_id').doUpdateSet(changed)),
    )
  }

  return {
    succeeded: (
      provider: Provider,
      metadata: IdpMetadata,
      { readAt, nextAt }: { readonly readAt: number; readonly nextAt: number },
    ): Statement =>
      upsert(provider, {
        metadata: toText(metadata),
        valid_until: Number.isFinite(metadata.validUntil) ? metadata.validUntil : null,
        read_at: readAt,
        next_at: nextAt,
        failed_at: null,
        failure: null,
      }),
    /** What was read before from the same source stays in use. */
    failed: (
      provider: Provider,
      isSame: boolean,
      {
        failure,
        failedAt,
        nextAt,
      }: { readonly failure: string; readonly failedAt: number; readonly nextAt: number },
    ): Statement =>
      upsert(provider, {
        ...(isSame ? {} : { metadata: null, read_at: null, valid_until: null }),
        failed_at: failedAt,
        failure: printable(failure, longestFailure),
        next_at: nextAt,
      }),
    of: (providerId: string): Promise<ProviderMetadataRow | undefined> =>
      db
        .selectFrom('identity_provider_metadata')
        .selectAll()
        .where('provider_id', '=', providerId)
        .executeTakeFirst(),
  }
}

export type MetadataRows = ReturnType<typeof createMetadataRows>
