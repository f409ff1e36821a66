/** How the two databases differ, as named facts. Nothing else in the code asks which database it is. */

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Several processes may write at once, so `server --workers` is possible. */
  readonly sharedByProcesses: boolean
  /** Text must be told to compare by bytes, or prefix ranges and ordering follow the locale. */
  readonly needsByteCollation: boolean
  /** A failed statement aborts the transaction until a savepoint is rolled back. */
  readonly errorAbortsTransaction: boolean
  /** Other processes are told of a commit by the database itself. */
  readonly notifies: boolean
}

export const sqlite: Dialect = {
  name: 'sqlite',
  sharedByProcesses: false,
  needsByteCollation: false,
  errorAbortsTransaction: false,
  notifies: false,
}

export const postgres: Dialect = {
  name: 'postgres',
  sharedByProcesses: true,
  needsByteCollation: true,
  errorAbortsTransaction: true,
  notifies: true,
}
