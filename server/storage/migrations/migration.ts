/**
 * The interface of a migration: a name that sorts, and its statements in the column types that both databases share.
 */

export interface ColumnTypes {
  /** Text that is compared, ordered or indexed: by bytes on both databases. */
  readonly text: string
  /** Text that is only stored and returned. */
  readonly json: string
  /** A number the database counts up by itself, as primary key. */
  readonly identity: string
  /** A column that every row gets from its transaction; none where `identity` follows the order of commits. */
  readonly commitOrder?: string
}

export interface Migration {
  readonly name: string
  readonly statements: (types: ColumnTypes) => readonly string[]
}
