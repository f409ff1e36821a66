/**
 * The digest that a key of a user signs: over every field that the user agrees to, each with its length first (a
 * netstring), so that no text can move from one field to another without changing the digest.
 */

import { createHash } from 'node:crypto'

export const digestOf = (fields: readonly string[]): Buffer => {
  const hash = createHash('sha256')
  for (const field of fields) hash.update(`${Buffer.byteLength(field)}:${field},`)
  return hash.digest()
}
