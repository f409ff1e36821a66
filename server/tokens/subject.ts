/**
 * The `sub` of a user (OIDC Core §2, §8): the realm's strategy, or the client's own. Pairwise subjects are the same for
 * clients of one sector and tell nothing across sectors (§8.1).
 */

import { SubjectClaim, type SubjectClaimDoc } from '#schemas/kinds/tokens/subject-claim.ts'
import { own } from '#schemas/own.ts'
import { hmacSha256 } from '#server/platform/sealing.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import {
  contentOf,
  type StoredDocument,
  type StoredSecret,
} from '#server/storage/documents/document.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { fieldsOf } from '#server/users/user-record.ts'
import type { TokenClient } from './client.ts'

/** The user has nothing that the strategy could take: no token is better than one with a made-up subject. */
export class SubjectMissingError extends Error {
  override readonly name = 'SubjectMissingError'
}

export interface Subjects {
  subjectOf(view: RealmView, client: TokenClient, user: UserRow): Promise<string>
  /** Of a user who is deleted, where the subject follows from the id alone; undefined where it is a value that is gone with the user. */
  subjectOfDeleted(
    view: RealmView,
    client: TokenClient,
    userId: string,
  ): Promise<string | undefined>
  /** Whether the client is to know the user by nothing that others know: no id and no name (OIDC Core §8). */
  isPairwise(view: RealmView, client: TokenClient): Promise<boolean>
  /** The name by which one service provider knows the user, and no other does (SAML Core §8.3.7). */
  persistentName(view: RealmView, entityId: string, user: Pick<UserRow, 'id'>): Promise<string>
}

export interface SubjectParts {
  /** Opens a sealed secret of a document. */
  readonly reveal: (place: StoredDocument, pointer: string, stored: StoredSecret) => string | null
  /** What the salt of a realm is made of that was given none. */
  readonly key: Uint8Array
}

/** A service account is named by its client's id, which no user's subject can be taken for (RFC 9700 §4.15). */
export const subjectOfClient = ({ id }: TokenClient): string => id

/**
 * The host of the sector identifier, or the one that all redirect URIs share, without its port (OIDC Core §8.1); a client
 * with several is a sector of its own, by its id, which is no host that another could have.
 */
const sectorOf = ({ id, doc }: TokenClient): string => {
  const named = URL.parse(doc.sectorIdentifierUri ?? '')?.hostname
  if (named) return named
  const hosts = new Set(doc.redirectUris.map((uri) => URL.parse(uri)?.hostname || uri))
  const [host] = hosts
  return hosts.size === 1 && host !== undefined ? host : id
}

export const createSubjects = ({ reveal, key }: SubjectParts): Subjects => {
  const givenSalt = (document: StoredDocument): string | null => {
    const stored = document.secrets['/salt']
    return stored ? reveal(document, '/salt', stored) : null
  }

  const saltOf = (document: StoredDocument): string =>
    givenSalt(document) ?? hmacSha256(key, document.id)

  const choiceOf = async (view: RealmView, { doc }: TokenClient) => {
    const document = await view.get(SubjectClaim.kind, SubjectClaim.kind)
    const realm = document ? contentOf<SubjectClaimDoc>(document) : undefined
    return { document, realm, strategy: doc.subjectClaim ?? realm?.strategy ?? 'userId' }
  }

  /** The strategies that need nothing but the id of the user. */
  const ofId = (
    { document, strategy }: Awaited<ReturnType<typeof choiceOf>>,
    client: TokenClient,
    userId: string,
  ): string | undefined => {
    if (strategy === 'userId') return userId
    if (strategy !== 'pairwise' || !document) return undefined
    return hmacSha256(Buffer.from(saltOf(document)), `${sectorOf(client)}\n${userId}`)
  }

  return {
    persistentName: async (view, entityId, { id }) => {
      const document = await view.get(SubjectClaim.kind, SubjectClaim.kind)
      // Not of the document's id, which is another one where the realm was deleted and imported again.
      const salt = (document && givenSalt(document)) ?? hmacSha256(key, view.realm)
      return hmacSha256(Buffer.from(salt), `saml\n${entityId}\n${id}`)
    },

    isPairwise: async (view, client) => (await choiceOf(view, client)).strategy === 'pairwise',

    subjectOfDeleted: async (view, client, userId) =>
      ofId(await choiceOf(view, client), client, userId),

    subjectOf: async (view, client, user) => {
      const choice = await choiceOf(view, client)
      const { realm, strategy } = choice
      const values: Partial<Record<typeof strategy, () => string | null | undefined>> = {
        username: () => user.username,
        email: () => user.email,
        attribute: () => own(fieldsOf(user).attributes, realm?.attribute ?? '')?.[0],
      }
      const subject = values[strategy]?.() ?? ofId(choice, client, user.id)
      if (!subject) throw new SubjectMissingError(`the user has no ${strategy} to be the subject`)
      return subject
    },
  }
}
