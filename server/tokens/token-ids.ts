/**
 * `jti` of what the realm signs: an id of its own and, behind dots, the grant that the token hangs on and the grant of who
 * acts. To everybody else it is one opaque word (RFC 7519 §4.1.7), so that tokens need no claims of our own.
 */

export interface TokenId {
  readonly grantId: string | undefined
  /** Of the user who acts for the subject (RFC 8693 §4.1). */
  readonly actorGrantId: string | undefined
}

export const tokenId = (id: string, grantId?: string, actorGrantId?: string): string =>
  actorGrantId === undefined
    ? [id, ...(grantId === undefined ? [] : [grantId])].join('.')
    : [id, grantId ?? '', actorGrantId].join('.')

export const readTokenId = (jti: string): TokenId => {
  const [, grantId, actorGrantId] = jti.split('.')
  return { grantId: grantId || undefined, actorGrantId: actorGrantId || undefined }
}
