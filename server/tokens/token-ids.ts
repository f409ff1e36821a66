/**
 * `jti` of tokens of the realm: an id and, separated by dots, the grant of the token, the grants of the actors, the tokens that it
 * was exchanged from, and the states of workload credentials (workload-state.ts); of some id tokens a hint at the user. For other
 * parties it is opaque (RFC 7519 §4.1.7), so that tokens need no private claims.
 */

export interface TokenId {
  readonly grantId: string | undefined
  /** Of those who act for the subject (RFC 8693 §4.1), and whatever else the token ends with. */
  readonly actorGrantIds: readonly string[]
  /** Of an id token: its user, sealed (user-hints.ts). */
  readonly userHint: string | undefined
}

/** In no id, no state of a workload (`~`) and no mark of a token (`!`). */
const hintMark = '*'

export const withUserHint = (jti: string, hint: string): string => `${jti}${hintMark}${hint}`

export const tokenId = (
  id: string,
  grantId?: string,
  actorGrantIds: readonly string[] = [],
): string =>
  actorGrantIds.length === 0
    ? [id, ...(grantId === undefined ? [] : [grantId])].join('.')
    : [id, grantId ?? '', ...actorGrantIds].join('.')

export const readTokenId = (jti: string): TokenId => {
  const [ids = '', userHint] = jti.split(hintMark)
  const [, grantId, ...actorGrantIds] = ids.split('.')
  return {
    grantId: grantId || undefined,
    actorGrantIds: actorGrantIds.filter((one) => one !== ''),
    userHint,
  }
}

/** The id of a token within its `jti`: what an exchanged token names it by. */
const bareTokenId = (jti: string): string => jti.split('.', 1)[0] ?? ''

/** What is stored of a revoked token, for itself and for the tokens that were exchanged from it. */
export const revokedIds = (jti: string): readonly string[] => [...new Set([jti, bareTokenId(jti)])]

const tokenMark = '!'

/** Whether an ending is a token; grants and workload credentials are the others. */
export const isToken = (ending: string): boolean => ending.startsWith(tokenMark)
export const tokenOfEnding = (ending: string): string => ending.slice(tokenMark.length)

const textOf = (jti: unknown): string => (typeof jti === 'string' ? jti : '')

/**
 * What a token ends with that the one with this `jti` was shown for, as subject or as actor: what that one ends with, and its
 * revocation. A revocation is remembered no longer than its token lives, so that the new token must not outlive it.
 */
export const endingsOf = (jti: unknown): readonly string[] => [
  ...readTokenId(textOf(jti)).actorGrantIds,
  `${tokenMark}${bareTokenId(textOf(jti))}`,
]
