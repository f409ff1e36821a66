/**
 * Whether every object of a JSON text names each member once. Parsers take the last of two members with one name, others the
 * first: a claim that stands twice means one thing to its issuer's library and another to ours (RFC 7519 §4).
 */

const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g

/** The text must be JSON that was parsed already. */
export const hasUniqueMembers = (json: string): boolean => {
  /** The names of each open object; null for an array. */
  const open: (Set<string> | null)[] = []
  let last = ''
  for (const [part] of json.matchAll(token)) {
    if (part === '{') open.push(new Set())
    else if (part === '[') open.push(null)
    else if (part === '}' || part === ']') open.pop()
    else if (part === ':') {
      const names = open.at(-1)
      // Names are compared as they read: "sub" may be spelled with escapes.
      const name = JSON.parse(last) as string
      if (names?.has(name)) return false
      names?.add(name)
    }
    last = part
  }
  return true
}
