/**
 * What an action does to a document beside the write path (it compares a secret, or ends what was issued to a client) needs
 * the permissions that a write of the document needs.
 */

import type { Kysely } from 'kysely'
import { kindNamed } from '#schemas/registry.ts'
import type { Caller } from '#server/http/caller.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { Drafts } from '../write/drafts.ts'
import { gather } from '../write/gather.ts'
import { editOf } from '../write/operations.ts'
import { refuseStronger } from './grants.ts'

/** 403 if the caller lacks a permission that one of the documents holds. */
export type RefuseUnlessOutranked = (
  realm: string,
  documents: readonly Pick<StoredDocument, 'id' | 'kind' | 'key'>[],
  caller: Caller,
) => Promise<void>

export const createRefuseUnlessOutranked =
  (db: Kysely<Tables>): RefuseUnlessOutranked =>
  async (realm, documents, caller) => {
    if (documents.length === 0 || caller.permissions.has('realm-admin')) return
    const unchanged = documents.map((document) =>
      editOf(kindNamed(document.kind), document, (before) => before),
    )
    const snapshot = await gather(db, realm, unchanged)
    if (!snapshot) return
    const drafts = new Drafts(snapshot)
    const ids = new Set(documents.map(({ id }) => id))
    const asked = drafts.all().filter(({ id }) => ids.has(id))
    refuseStronger(drafts, asked, caller)
  }
