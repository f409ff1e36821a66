/**
 * Finds variables that were meant to be options. Only those: `IAMCTL_…` is also the prefix of the CLI's own
 * variables and of what Kubernetes makes up for a Service of that name.
 */

const PREFIX = 'IAMCTL_'

/** Read by the CLI as a client. */
const clientSide: ReadonlySet<string> = new Set(
  ['SERVER', 'REALM', 'USERNAME', 'PASSWORD', 'TOKEN', 'CONTEXT'].map((name) => PREFIX + name),
)

/** Insertions, deletions, substitutions and swaps of neighbours that make `a` into `b`. */
const distance = (a: string, b: string): number => {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    rows.push(current)
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1]
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (same ? 0 : 1),
          swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
  }
  return at(a.length, b.length)
}

/** The option that an unknown variable was meant to be, if it looks like one. */
export const likelyTypo = (variable: string, options: readonly string[]): string | undefined => {
  const upper = variable.toUpperCase()
  if (!upper.startsWith(PREFIX) || options.includes(variable) || clientSide.has(variable))
    return undefined
  const word = upper.slice(PREFIX.length)
  return options.find((option) => {
    const name = option.slice(PREFIX.length)
    // Two words of a longer name, such as ADMIN_PASSWORD for BOOTSTRAP_ADMIN_PASSWORD.
    if (word.includes('_') && name.endsWith(`_${word}`)) return true
    return distance(word, name) <= Math.ceil(name.length / 6)
  })
}
