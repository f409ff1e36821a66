/** The length of the message and of the provenance of a revision, which both come from CI systems as they are. */

export const longestRevisionText = 2000

/** Cut between code points, which JSON Schema counts: a half of a pair is no text for PostgreSQL. */
export const fittingRevision = (text: string): string => {
  const points = Array.from(text)
  if (points.length <= longestRevisionText) return text
  return `${points.slice(0, longestRevisionText - 1).join('')}…`
}
