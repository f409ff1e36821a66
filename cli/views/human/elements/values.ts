/** Values of the API in a cell of a table. */

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** A time as ISO 8601 without milliseconds. */
export const moment = (ms: number | null): string => {
  if (ms === null) return ''
  const date = new Date(ms)
  // A server may tell a number that is no time.
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace(/\.\d+Z$/, 'Z')
}

/** How long ago, in the largest unit that says something. */
export const ago = (ms: number, now: number): string => {
  const passed = Math.max(0, now - ms)
  if (passed < minute) return 'just now'
  if (passed < hour) return `${Math.floor(passed / minute)} min ago`
  if (passed < 2 * day) return `${Math.floor(passed / hour)} h ago`
  return `${Math.floor(passed / day)} d ago`
}

export const cellOf = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(cellOf).join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
