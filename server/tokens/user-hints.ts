/**
 * The user of an id token, sealed for this server alone. A pairwise subject or an attribute leads back to no user once the grant has
 * ended, and CIBA clients present id tokens long after that (CIBA Core §7.1). Each sealing is another text, so that clients cannot
 * compare them (OIDC Core §8.1).
 */

import { decrypt, encrypt, SealError } from '#server/platform/sealing.ts'

export interface UserHints {
  seal(userId: string): string
  /** Nothing unless it was sealed here. */
  open(hint: string): string | undefined
}

const context = 'id-token/user'

export const createUserHints = (key: Uint8Array): UserHints => ({
  seal: (userId) => encrypt(key, userId, context),
  open: (hint) => {
    try {
      return decrypt(key, { kid: 'user-hints', v: hint }, context)
    } catch (error) {
      if (error instanceof SealError) return undefined
      throw error
    }
  },
})
