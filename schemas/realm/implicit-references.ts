/** Names that need no document, because they are always there: why, for those who write them down. */

/** By kind and key. The scope that makes a request one of OpenID Connect is any client's (OIDC Core 1.0 §3.1.2.1). */
const hints: ReadonlyMap<string, string> = new Map([
  ['client-scope openid', 'every client may request openid: leave it out'],
])

export const implicitHint = (kind: string, key: string): string | undefined =>
  hints.get(`${kind} ${key}`)
