/** Claims of a provider: as the fields of a person (OIDC Core §5.1), and flat, as mappers name them. */

import { unstorable } from '#schemas/text/storable-text.ts'
import type { Claims, Person } from './vendor.ts'

/** Text that cannot be stored is none: a person may have chosen it there, and it must not fail the sign-in. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && unstorable(value) === undefined ? value : undefined

/** The standard claims. `email_verified` counts as a boolean alone (OIDC Core §5.1). */
export const standardPerson = (claims: Claims): Person => ({
  subject: textOf(claims['sub']),
  username: textOf(claims['preferred_username']),
  email: textOf(claims['email']),
  emailVerified: claims['email_verified'] === true,
  firstName: textOf(claims['given_name']),
  lastName: textOf(claims['family_name']),
})

/**
 * Claims that decide who a person is, how strong a sign-in was and who vouches for an address. They count from the ID token alone: OIDC
 * Core §2 defines them there, and a userinfo response is not signed and may hold attributes that users set themselves.
 */
const signedAlone = ['iss', 'sid', 'amr', 'acr', 'auth_time', 'tid', 'oid', 'xms_edov', 'hd']

/**
 * The claims of the ID token and of userinfo together; what is signed wins. `email_verified` stays with the address that it was
 * said of: the two responses may name different ones.
 */
export const joinedClaims = (told: Claims, signed: Claims): Claims => {
  const open = Object.fromEntries(
    Object.entries(told).filter(([name]) => !signedAlone.includes(name)),
  )
  const ofTold = told['email'] === signed['email'] ? told['email_verified'] : undefined
  const isVerified =
    signed['email'] === undefined ? told['email_verified'] : (signed['email_verified'] ?? ofTold)
  return { ...open, ...signed, email_verified: isVerified }
}

const deepest = 4
const most = 500
const longest = 4000

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** Members of objects are named with dots: `address.country`. Values that are too long are left out, never cut. */
export const flatClaims = (claims: Claims): Record<string, readonly string[]> => {
  const flat = new Map<string, readonly string[]>()
  const add = (name: string, value: unknown, depth: number): void => {
    if (flat.size >= most || depth > deepest) return
    if (Array.isArray(value)) {
      const values = value.filter(isPlain).map(String)
      flat.set(
        name,
        values.slice(0, most).filter(({ length }) => length <= longest),
      )
    } else if (isPlain(value)) {
      const text = String(value)
      if (text.length <= longest) flat.set(name, [text])
    } else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) add(`${name}.${key}`, inner, depth + 1)
  }
  for (const [name, value] of Object.entries(claims)) add(name, value, 0)
  return Object.fromEntries(flat)
}
