/** Realms as loaded from files, with the source position of each value. */

import type { Doc } from '#schemas/json-schema.ts'
import type { FlatRealm } from '#schemas/realm/realm-document.ts'
import type { Diagnostic, Place } from '../diagnostics.ts'
import type { MapNode } from './yaml/tree.ts'

/** Where the value of a secret comes from; the value itself is fetched only by plan and apply. */
export type SecretSource =
  | { readonly from: 'env'; readonly name: string }
  | { readonly from: 'file'; readonly path: string }
  /** A key of a file that `sops` opens: `clients.web`. */
  | { readonly from: 'sops'; readonly path: string; readonly key: string }
  | { readonly from: 'exec'; readonly command: string }
  /** Written out in the file itself. */
  | { readonly from: 'literal'; readonly file: string; readonly pointer: string }

/** A document of a file that is part of a realm. */
export interface RealmPart {
  /** 0 of the files, 1 of the first overlay over them, and so on. */
  readonly layer: number
  /** Which document of its file, empty ones not counted. */
  readonly index: number
  readonly root: MapNode
}

export interface LoadedRealm {
  readonly realm: string
  /**
   * All parts and overlays as one value in the shape of a realm file: variables in their place, anchors and merge keys
   * resolved, secrets as they are written (`${env:NAME}` …).
   */
  readonly value: Doc
  /** The documents of `value`. */
  readonly flat: FlatRealm
  /** The place of what a JSON pointer into `value` names: of the value, or of the key before it. */
  placeOf(pointer: string, what?: 'value' | 'key'): Place | undefined
  readonly files: readonly string[]
  /** The files that it was put together from, in reading order, for commands that write into them. */
  readonly parts: readonly RealmPart[]
  /** Files of the estate that were not named and hold more of the realm: nothing of it is pruned then. */
  readonly elsewhere: readonly string[]
}

export interface Loaded {
  readonly realms: readonly LoadedRealm[]
  /** What could not be read. Realms that are listed all the same hold what could. */
  readonly diagnostics: readonly Diagnostic[]
  /** The text of a file that a diagnostic names, for its code frame. */
  textOf(file: string): string | undefined
}
