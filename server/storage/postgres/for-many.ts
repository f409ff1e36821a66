/** One query made of many that have the same text: PostgreSQL's work per statement is larger than its work per row. */

export type Value = string | number
export type Row = Readonly<Record<string, unknown>>

/** No column is called so. */
const NUMBER = '#'

export function areValues(parameters: readonly unknown[]): parameters is readonly Value[] {
  return (
    parameters.length > 0 &&
    parameters.every((value) => typeof value === 'string' || typeof value === 'number')
  )
}

export interface ForMany {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** The text, run for each of the lists. `offset 0`: each time by its own plan, whatever else could be joined. */
export function forMany(sql: string, lists: readonly (readonly Value[])[]): ForMany {
  const [first = []] = lists
  const arrays = first.map((value, index) => `$${index + 1}::${typeOf(value)}[]`)
  const names = first.map((_, index) => `p${index + 1}`)
  const own = sql.replace(/\$(\d+)/g, 'given.p$1')
  return {
    sql:
      `select given."${NUMBER}", found.* from unnest(${arrays.join(', ')}) ` +
      `with ordinality as given(${names.join(', ')}, "${NUMBER}") ` +
      `cross join lateral (${own} offset 0) as found`,
    parameters: first.map((_, index) => lists.map((list) => list[index])),
  }
}

/** The rows of each of so many lists. */
export function rowsOfEach(rows: readonly Row[], length: number): Row[][] {
  const each = Array.from({ length }, (): Row[] => [])
  for (const { [NUMBER]: number, ...row } of rows) each[Number(number) - 1]?.push(row)
  return each
}

function typeOf(value: Value): string {
  return typeof value === 'number' ? 'bigint' : 'text'
}
