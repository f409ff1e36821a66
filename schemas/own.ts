/**
 * Lookups by a name that a user, a file or a peer gave. Every object inherits `constructor`, `toString`, `__proto__` and others,
 * and a plain lookup finds those too (CWE-1321).
 */

/** The object's own value of that name; undefined of what it only inherits. */
export const own = <T>(values: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined
