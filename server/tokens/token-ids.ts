/**
 * `jti` of tokens of the realm: an id and, separated by dots, the grant of the token, the grants of the actors, and the states of
 * workload credentials (workload-state.ts). For other parties it is opaque (RFC 7519 §4.1.7), so that tokens need no private
 * claims.
 */

export interface TokenId {
  readonly grantId: string | undefined
  /** Of those who act for the subject (RFC 8693 §4.1), and whatever else the token ends with. */
  readonly actorGrantIds: readonly string[]
}

export const tokenId = (
  id: string,
  grantId?: string,
  actorGrantIds: readonly string[] = [],
): string =>
  actorGrantIds.length === 0
    ? [id, ...(grantId === undefined ? [] : [grantId])].join('.')
    : [id, grantId ?? '', ...actorGrantIds].join('.')

export const readTokenId = (jti: string): TokenId => {
  const [, grantId, ...actorGrantIds] = jti.split('.')
  return { grantId: grantId || undefined, actorGrantIds: actorGrantIds.filter((one) => one !== '') }
}
