/** A client as tokens know it, and a memory for what follows from its document and the realm's configuration. */

import { underProfile } from '#schemas/access/client-profile.ts'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { perDocument } from '#server/storage/documents/kept.ts'
import type { Issuer } from './issuers.ts'

export interface TokenClient {
  /** Of the document; what tables refer to. */
  readonly id: string
  /** What the protocol calls it. */
  readonly clientId: string
  /** With what its profile switches on. */
  readonly doc: ClientDoc
  readonly document: StoredDocument
}

export const clientOf = perDocument(
  (document): TokenClient => ({
    id: document.id,
    clientId: document.key,
    doc: underProfile(contentOf<ClientDoc>(document)),
    document,
  }),
)

/** A client by the name that a request gives; without one, the reason for the client's developer, if there is more to say. */
export interface FoundClient {
  readonly client?: TokenClient | undefined
  readonly refused?: string
}

export type FindClient = (issuer: Issuer, clientId: string) => Promise<FoundClient>

interface Remembered<T> {
  readonly createdAt: number
  readonly seq: number
  readonly values: Map<string, Promise<T>>
}

export type PerClient<T> = (
  view: RealmView,
  client: TokenClient,
  key: string,
  make: () => Promise<T>,
) => Promise<T>

/** Keeps a value per client and key until the client or anything else in the realm changes. */
export const rememberPerClient = <T>(most = 64): PerClient<T> => {
  const known = new WeakMap<StoredDocument, Remembered<T>>()
  return (view, { document }, key, make) => {
    let remembered = known.get(document)
    if (remembered?.seq !== view.seq || remembered.createdAt !== view.createdAt) {
      remembered = { createdAt: view.createdAt, seq: view.seq, values: new Map() }
      known.set(document, remembered)
    }
    const { values } = remembered
    const before = values.get(key)
    if (before) return before
    const made = make()
    // The key comes from requests: it must not be a way to fill the memory.
    if (values.size < most) {
      values.set(key, made)
      made.catch(() => values.delete(key))
    }
    return made
  }
}
