/** The outcome of the last attempt to read the metadata of each service provider. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { statement } from '#server/storage/statements.ts'
import type { SamlMetadataReadRow } from '#server/storage/tables/saml-tables.ts'
import { printable } from '#server/users/names.ts'

interface Attempt {
  readonly document: Pick<StoredDocument, 'id' | 'realm'>
  readonly url: string
  readonly nextAt: number
}

/** As much of a reason as is kept. */
const longestFailure = 1000

export const createMetadataReads = ({
  storage: { db },
}: {
  readonly storage: Pick<Storage, 'db'>
}) => {
  const upsert = (
    { document, url, nextAt }: Attempt,
    outcome: Partial<SamlMetadataReadRow>,
  ): Statement[] => {
    const changed = { url, next_at: nextAt, ...outcome }
    const row = { client_id: document.id, realm: document.realm, ...changed }
    const none = { read_at: null, valid_until: null, failed_at: null, failure: null }
    return [
      statement(
        db
          .insertInto('saml_metadata_reads')
          .values({ ...none, ...row })
          .onConflict((conflict) => conflict.column('client_id').doUpdateSet(changed)),
      ),
    ]
  }

  return {
    succeeded: (
      attempt: Attempt & { readonly readAt: number; readonly validUntil: number },
    ): Statement[] =>
      upsert(attempt, {
        read_at: attempt.readAt,
        valid_until: Number.isFinite(attempt.validUntil) ? attempt.validUntil : null,
        failed_at: null,
        failure: null,
      }),
    /** What was read before stays noted. */
    failed: (
      attempt: Attempt & { readonly failedAt: number; readonly failure: string },
    ): Statement[] =>
      upsert(attempt, {
        failed_at: attempt.failedAt,
        failure: printable(attempt.failure, longestFailure),
      }),
    of: (realm: string): Promise<SamlMetadataReadRow[]> =>
      db.selectFrom('saml_metadata_reads').selectAll().where('realm', '=', realm).execute(),
  }
}

export type MetadataReads = ReturnType<typeof createMetadataReads>
