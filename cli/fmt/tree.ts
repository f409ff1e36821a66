/**
 * A file as the formatter sees it: collections and their entries, scalars as they are written, and every comment with the
 * entry it belongs to. Where `yaml` would move comments on its own, positions in the source decide here.
 */

/** Why a file is left as it is: it is allowed, and cannot be put into another form without a risk. */
export class Unformattable extends Error {
  override readonly name = 'Unformattable'
}

/** A scalar, an alias, or a collection that stays as it is written. */
export interface Text {
  readonly type: 'text'
  /** As it is written; of text over several lines, with its own indentation. */
  readonly text: string
  /** How it must be written between braces, where more characters have a meaning. */
  readonly inBraces: string
  readonly style: 'plain' | 'quoted' | 'block' | 'verbatim'
  /** `&anchor` and `!tag`. */
  readonly props: string
  readonly start: number
  readonly end: number
}

export interface Collection {
  readonly type: 'map' | 'list'
  entries: Entry[]
  /** Comments behind the last entry; '' is an empty line. */
  readonly below: string[]
  readonly props: string
  readonly flow: boolean
  /** Where its entries stand, counted from 0. */
  readonly column: number
  readonly start: number
  readonly end: number
}

export type Value = Text | Collection

export interface Entry {
  /** As it is printed; null in a list. */
  readonly key: string | null
  /** What the key says. */
  readonly name: string | null
  readonly value: Value
  /** Comments above it; '' is an empty line between them. */
  readonly leading: string[]
  /** Whether an empty line stands above it and its comments. */
  blankBefore: boolean
  /** A comment behind the value; of a collection, behind the key. */
  trailing: string | null
  readonly column: number
  readonly start: number
}

export interface FileDocument {
  /** `%YAML …` */
  readonly directives: readonly string[]
  /** Comments before `---`. */
  readonly prelude: readonly string[]
  /** Whether it begins with `---`. */
  readonly marked: boolean
  /** Comments on top that belong to the document, whatever comes first in it. */
  readonly header: readonly string[]
  readonly root: Value | null
  /** Comments behind everything. */
  readonly below: readonly string[]
}

export const isCollection = (value: Value): value is Collection => value.type !== 'text'

export const isEmptyText = (value: Value): boolean =>
  value.type === 'text' && value.text === '' && value.props === ''
