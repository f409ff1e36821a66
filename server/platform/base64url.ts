/**
 * base64url in its one spelling (RFC 4648 §3.5, §5; RFC 7515 §2). Decoders pass over padding, whitespace, the letters of
 * plain base64 and the unused bits of the last letter: without this check one token or key has many spellings, and
 * whatever is remembered by its text (a revocation, a replay, a thumbprint) is escaped by the next one.
 */

export const isBase64url = (text: string): boolean =>
  text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text

/** Three parts, each in its one spelling (RFC 7515 §7.1). */
export const isCompactJws = (token: string): boolean => {
  const parts = token.split('.', 4)
  return parts.length === 3 && parts.every(isBase64url)
}
