/** "Did you mean …": the known word that an unknown one is a slip of. */

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

export const nearest = (word: string, known: Iterable<string>): string | undefined => {
  const meant = word.toLowerCase()
  let best: string | undefined
  let least = Math.max(1, Math.floor(meant.length / 3)) + 1
  for (const candidate of known) {
    if (candidate === word || Math.abs(candidate.length - word.length) >= least) continue
    const steps = distance(meant, candidate.toLowerCase())
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best
}

/** The hint for a diagnostic, where there is one. */
export const didYouMean = (word: string, known: Iterable<string>): { readonly hint?: string } => {
  const found = nearest(word, known)
  return found === undefined ? {} : { hint: `did you mean "${found}"?` }
}
