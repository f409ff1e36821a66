/** Suggests the intended word for an unknown one. */

/**
 * Insertions, deletions, substitutions and swaps of neighbours that make `a` into `b`; more than `most` of them are
 * not counted to the end.
 */
export const distance = (a: string, b: string, most = Number.POSITIVE_INFINITY): number => {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY
  const columns = b.length + 1
  let before: number[] = []
  let above = Array.from({ length: columns }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    let least = row
    for (let column = 1; column < columns; column += 1) {
      const same = a[row - 1] === b[column - 1]
      const swapped = row > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const cost = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
      current.push(cost)
      least = Math.min(least, cost)
    }
    if (least > most) return Number.POSITIVE_INFINITY
    before = above
    above = current
  }
  return above[b.length] ?? 0
}

/** Other spellings of one word: `redirect_uris`, `redirect-uris` and `redirectUris`. */
const bare = (word: string): string => word.replaceAll(/[\s_-]/g, '').toLowerCase()

/** The candidate that a word was probably meant to be, or undefined where none is close. */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const meant = bare(word)
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const name = bare(candidate)
    const most = Math.min(least - 1, Math.ceil(Math.min(name.length, meant.length) / 4))
    const cost = most < 0 ? Number.POSITIVE_INFINITY : distance(meant, name, most)
    if (cost > most) continue
    best = candidate
    least = cost
  }
  return best
}
