/**
 * Names of repeated statements: PostgreSQL parses and plans a text at every use unless it has a name, which costs more than a
 * small write itself. A text gets a name after several uses; lists of varying length produce many texts, most of which are
 * not repeated.
 */

/** Every connection keeps what has a name for as long as it lives. */
const NAMED = 200
/** Most texts whose uses are counted; beyond that the counts are reset. */
const COUNTED = 1_000
const USES = 3

export class StatementNames {
  readonly #names = new Map<string, string>()
  #uses = new Map<string, number>()

  nameOf(sql: string): string | undefined {
    return this.#names.get(sql) ?? this.#nameNow(sql)
  }

  #nameNow(sql: string): string | undefined {
    if (this.#names.size === NAMED) return undefined
    const uses = (this.#uses.get(sql) ?? 0) + 1
    if (uses < USES) {
      if (this.#uses.size === COUNTED) this.#uses = new Map()
      this.#uses.set(sql, uses)
      return undefined
    }
    this.#uses.delete(sql)
    const name = `write-${this.#names.size + 1}`
    this.#names.set(sql, name)
    return name
  }
}
