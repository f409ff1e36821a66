/** What a PATCH makes of a user (RFC 7644 §3.5.2): small, and written without the code that it is compared with. */

import { enterprise } from '../sender.ts'

// biome-ignore lint/suspicious/noExplicitAny: resources are what JSON has
export type Json = Record<string, any>

export const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

export const compact = (value: Json): Json =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const one =
        typeof inner === 'object' && inner !== null && !Array.isArray(inner)
          ? compact(inner)
          : inner
      return isEmpty(one) ? [] : [[name, one]]
    }),
  )

/** The same value of the same type is one. */
const union = (list: readonly Json[]): Json[] => {
  const found = new Map<string, Json>()
  for (const one of list) {
    const key = JSON.stringify([one['value'], one['type'], one['value'] === undefined ? one : 0])
    const first = found.get(key)
    const primary = first?.['primary'] === true || one['primary'] === true
    found.set(key, { ...first, ...one, ...(first && primary ? { primary: true } : {}) })
  }
  return [...found.values()]
}
const withPrimary = (list: readonly Json[], fresh: (one: Json) => boolean): Json[] => {
  const chosen = list.find((one) => fresh(one) && one['primary'] === true)
  return chosen
    ? list.map((one) =>
        one !== chosen && one['primary'] === true ? { ...one, primary: false } : one,
      )
    : [...list]
}

/** Undefined: 400 noTarget. */
export const patched = (before: Json, { op, path, value }: Json): Json | undefined => {
  const user: Json = structuredClone(before)
  const [, list = '', wanted = '', sub] =
    /^(\w+)\[type eq "(\w+)"\](?:\.(\w+))?$/.exec(path ?? '') ?? []
  if (list !== '') {
    const all: Json[] = user[list] ?? []
    const fits = ({ type: one }: Json) => one === wanted
    if (op === 'remove') user[list] = all.filter((one) => !fits(one))
    else if (!all.some(fits)) {
      if (!sub) return undefined
      user[list] = [...all, { type: wanted, [sub]: value }]
    } else {
      const changed = all.map((one) =>
        fits(one) ? (sub ? { ...one, [sub]: value } : { ...value }) : one,
      )
      user[list] = union(withPrimary(changed, (one) => fits(all[changed.indexOf(one)] ?? {})))
    }
  } else if (path === undefined) {
    for (const [name, inner] of Object.entries(value as Json)) {
      if (name === 'name.givenName') user['name'] = { ...user['name'], givenName: inner }
      else user[name] = name === enterprise ? { ...user[name], ...(inner as Json) } : inner
    }
  } else if ((path === 'phoneNumbers' || path === 'emails') && op === 'add') {
    const all: Json[] = user[path] ?? []
    const after = union([...all, ...value])
    const fresh = (value as Json[]).find(({ primary }) => primary === true)
    user[path] = withPrimary(
      after,
      (one) => one['value'] === fresh?.['value'] && one['type'] === fresh?.['type'],
    )
  } else {
    const at = path.startsWith(`${enterprise}:`)
      ? [enterprise, path.slice(enterprise.length + 1)]
      : path === enterprise
        ? [path]
        : path.split('.')
    if (at.length === 2) user[at[0]] ??= {}
    const holder: Json = at.length === 2 ? user[at[0]] : user
    const name = at.at(-1)
    if (op === 'remove') delete holder[name]
    else holder[name] = name === 'name' ? { ...holder[name], ...value } : value
  }
  return compact(user)
}
