/**
 * `jti` of tokens of the realm: an id and, separated by dots, the grant of the token and the grant of the actor. For other
 * parties it is opaque (RFC 7519 §4.1.7), so that tokens need no private claims.
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
