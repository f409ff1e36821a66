/** Queries of the lists of the protection API: search terms, and the page by `first` and `max`, as clients of Keycloak send them. */

import { textErrors } from '#server/storage/values.ts'
import { invalidRequest } from '../errors.ts'
import type { Parameters } from '../parameters.ts'

const mostListed = 1000
const usualListed = 100

/** A term that the database is asked for: PostgreSQL fails on a NUL character. */
export const termIn = (query: Parameters, name: string): string | undefined => {
  const term = query.get(name)
  const [wrong] = textErrors(term)
  if (wrong) throw invalidRequest(`${name} ${wrong.message}`)
  return term
}

const numberIn = (query: Parameters, name: string, fallback: number): number => {
  const text = query.get(name)
  if (text === undefined) return fallback
  if (!/^\d{1,9}$/.test(text)) throw invalidRequest(`${name} must be a number`)
  return Number(text)
}

export const pageIn = (query: Parameters): { readonly first: number; readonly max: number } => ({
  first: numberIn(query, 'first', 0),
  max: Math.min(numberIn(query, 'max', usualListed), mostListed),
})
