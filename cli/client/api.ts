/** The admin API as functions. One file of calls per part of it; this one has those about whole realms. */

import { randomUUID } from 'node:crypto'
import type { Doc } from '#schemas/json-schema.ts'
import type { RealmRecord } from '#schemas/wire/records.ts'
import type {
  ChangesetReply,
  ChangesetRequest,
  CompareReply,
  ImportReply,
  RealmExport,
  RevisionDetail,
  RevisionSummary,
  RollbackReply,
  RollbackRequest,
} from '#schemas/wire/wire.ts'
import type { Engine } from '../planning/engine.ts'
import { type DocumentCalls, documentCalls } from './documents.ts'
import { type Call, createCall, path } from './http/call.ts'
import { isProblem } from './http/errors.ts'
import type { Http } from './http/http.ts'
import { type LiveCalls, liveCalls } from './live.ts'
import type { Whoami } from './records.ts'
import type { Session } from './session.ts'

export interface Api extends Engine, LiveCalls {
  readonly server: string
  /** How many requests were sent; signing in and out is not counted. */
  readonly requests: () => number
  readonly documents: DocumentCalls
  whoami(realm: string): Promise<Whoami>
  realms(): Promise<readonly RealmRecord[]>
  createRealm(realm: string): Promise<void>
  deleteRealm(realm: string): Promise<void>
  revisions(
    realm: string,
    page?: { readonly before?: number; readonly max?: number },
  ): Promise<readonly RevisionSummary[]>
  revision(realm: string, revision: number): Promise<RevisionDetail>
  rollback(realm: string, revision: number, request?: RollbackRequest): Promise<RollbackReply>
  importRealm(
    realm: string,
    document: Doc,
    options?: { readonly dryRun?: boolean; readonly fromRealm?: string },
  ): Promise<ImportReply>
}

/** From here on the operations are sent as lines: neither side then holds all of them as one text. */
const manyOperations = 200

const below = (realm: string): string => path`/admin/realms/${realm}`

const engineCalls = (call: Call): Engine => ({
  async compare(realm, request) {
    try {
      const { body } = await call<CompareReply>('POST', `${below(realm)}/compare`, {
        json: request,
        repeatable: true,
        slow: true,
      })
      return body
    } catch (error) {
      if (isProblem(error, 404)) return null
      throw error
    }
  },
  async exportRealm(realm, { sections, ...query }) {
    const { body } = await call<RealmExport>('GET', `${below(realm)}/export`, {
      query: { ...query, sections: sections?.join(',') },
      slow: true,
    })
    return body
  },
  async changeset(realm, request: ChangesetRequest, { idempotencyKey = randomUUID() } = {}) {
    const { operations, ...head } = request
    const { body } = await call<ChangesetReply>('POST', `${below(realm)}/changesets`, {
      // A dry run leaves nothing behind that would have to be found again.
      headers: head.dryRun ? {} : { 'idempotency-key': idempotencyKey },
      repeatable: true,
      slow: true,
      ...(operations.length > manyOperations
        ? { lines: () => [head, ...operations] }
        : { json: request }),
    })
    return body
  },
})

export const createApi = (http: Http, session: Session): Api => {
  const call = createCall(http, session)
  return {
    server: http.server,
    requests: http.requests,
    ...engineCalls(call),
    ...liveCalls(call),
    documents: documentCalls(call),
    async whoami(realm) {
      return (await call<Whoami>('GET', `${below(realm)}/whoami`)).body
    },
    async realms() {
      return (await call<RealmRecord[]>('GET', '/admin/realms')).body
    },
    async createRealm(realm) {
      await call('POST', '/admin/realms', { json: { realm } })
    },
    async deleteRealm(realm) {
      await call('DELETE', below(realm))
    },
    async revisions(realm, page = {}) {
      const { body } = await call<RevisionSummary[]>('GET', `${below(realm)}/revisions`, {
        query: { ...page },
      })
      return body
    },
    async revision(realm, revision) {
      const where = below(realm) + path`/revisions/${String(revision)}`
      return (await call<RevisionDetail>('GET', where, { slow: true })).body
    },
    async rollback(realm, revision, request = {}) {
      const where = below(realm) + path`/revisions/${String(revision)}/rollback`
      return (await call<RollbackReply>('POST', where, { json: request, slow: true })).body
    },
    async importRealm(realm, document, { dryRun, fromRealm } = {}) {
      const { body } = await call<ImportReply>('POST', `${below(realm)}/import`, {
        query: { dryRun, fromRealm },
        json: document,
        slow: true,
      })
      return body
    },
  }
}
