/**
 * The access of a client to the admin API: full, within its roles, or plan only. It is a field of the client. The scope
 * `admin:plan` narrows a token further; its absence widens nothing.
 */

/** A token that has it reads, compares and tries out, and changes nothing. */
export const planScope = 'admin:plan'

export const adminAccesses = ['full', 'plan'] as const
export type AdminAccess = (typeof adminAccesses)[number]

const has = (list: unknown, item: string): boolean => Array.isArray(list) && list.includes(item)

/** A client that gets the scope by default was meant for planning before there was the field. */
export const isPlanOnly = (client: object | null | undefined): boolean => {
  const { adminAccess, defaultScopes } = (client ?? {}) as Readonly<Record<string, unknown>>
  return adminAccess === 'plan' || has(defaultScopes, planScope)
}
