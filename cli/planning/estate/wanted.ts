/** The desired state of one realm from the files: documents in canonical form, the lists that exist, and secrets. */

import { type Desired, desiredOf } from '#schemas/realm/desired.ts'
import { type FlatRealm, sectionOf } from '#schemas/realm/realm-document.ts'
import { sectionHash } from '#schemas/realm/section-hash.ts'
import { kindNamed } from '#schemas/registry.ts'
import { secretFields } from '#schemas/walk.ts'
import type { CompareRequest, SecretPlace } from '#schemas/wire/wire.ts'
import type { LoadedRealm, SecretSource } from '../../load/loaded.ts'

export interface WantedSecret extends SecretPlace {
  /** Into the realm value. */
  readonly sourcePointer: string
  readonly source: SecretSource
  /** As it is written. */
  readonly text: string
  readonly formerKey: string | null
  /** Used when the document is made, and never compared afterwards. */
  readonly initial: boolean
  /** Its variable is not set: a plan may do without it. */
  readonly isUnknown?: boolean
}

export interface Wanted {
  readonly loaded: LoadedRealm
  readonly desired: readonly Desired[]
  readonly listings: FlatRealm['listings']
  readonly secrets: readonly WantedSecret[]
}

export type SourceOf = (text: string, pointer: string, loaded: LoadedRealm) => SecretSource

export const isInitial = (kind: string, pointer: string): boolean =>
  secretFields(kindNamed(kind)).some(
    (field) => field.pointer === pointer && field.mark.store === 'initial',
  )

export const wantedOf = (loaded: LoadedRealm, sourceOf: SourceOf): Wanted => {
  const { entries, listings } = loaded.flat
  const desired = entries.map(desiredOf)
  const secrets = desired.flatMap((document) =>
    Object.entries(document.secrets).map(([pointer, text]) => {
      const sourcePointer = `${document.pointer}${pointer}`
      return {
        kind: document.kind.kind,
        key: document.key,
        pointer,
        sourcePointer,
        source: sourceOf(text, sourcePointer, loaded),
        text,
        formerKey: document.renamedFrom,
        initial: isInitial(document.kind.kind, pointer),
      }
    }),
  )
  return { loaded, desired, listings, secrets }
}

/** The sections of the files, singletons included. */
export const sectionsOf = ({ desired, listings }: Wanted): string[] => [
  ...new Set([...listings, ...desired].map(({ kind }) => sectionOf(kind))),
]

export const comparison = (
  wanted: Wanted,
  source: string,
  secretOf: (secret: WantedSecret) => string | undefined,
): CompareRequest => {
  const bySection = Map.groupBy(wanted.desired, ({ kind }) => sectionOf(kind))
  const sectionHashes = Object.fromEntries(
    sectionsOf(wanted).map((section) => [
      section,
      sectionHash(
        (bySection.get(section) ?? []).map(({ kind, key, hash, protected: isProtected }) => ({
          kind: kind.kind,
          key,
          hash,
          protected: isProtected,
        })),
      ),
    ]),
  )
  // A document that is renamed may have either key by now.
  const secrets = wanted.secrets.flatMap((secret) => {
    const value = secret.initial || secret.isUnknown ? undefined : secretOf(secret)
    if (value === undefined) return []
    const { kind, key, formerKey, pointer } = secret
    return [key, ...(formerKey === null ? [] : [formerKey])].map((name) => ({
      kind,
      key: name,
      pointer,
      value,
    }))
  })
  return { source, sectionHashes, ...(secrets.length > 0 ? { secrets } : {}) }
}
