/** Distinguished names (RFC 4514), compared as directories do: without case, and whatever way a character is escaped. */

const unescaped = (value: string): string => {
  if (!value.includes('\\')) return value
  const bytes: Buffer[] = []
  for (let i = 0; i < value.length; i += 1) {
    const character = value[i] ?? ''
    if (character !== '\\') {
      const whole = String.fromCodePoint(value.codePointAt(i) ?? 0)
      bytes.push(Buffer.from(whole))
      i += whole.length - 1
      continue
    }
    const hex = value.slice(i + 1, i + 3)
    if (/^[0-9a-f]{2}$/i.test(hex)) {
      bytes.push(Buffer.from(hex, 'hex'))
      i += 2
    } else {
      bytes.push(Buffer.from(value[i + 1] ?? ''))
      i += 1
    }
  }
  return Buffer.concat(bytes).toString('utf8')
}

/** Splits at a separator that is neither escaped nor in quotes. */
const split = (text: string, separators: string): string[] => {
  const parts: string[] = []
  let part = ''
  let isQuoted = false
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i] ?? ''
    if (character === '\\') {
      part += character + (text[i + 1] ?? '')
      i += 1
    } else if (!isQuoted && separators.includes(character)) {
      parts.push(part)
      part = ''
    } else {
      if (character === '"') isQuoted = !isQuoted
      part += character
    }
  }
  return [...parts, part]
}

/** Trims what is not part of a value: an escaped space at the end is. */
const trimmed = (text: string): string => {
  const start = text.trimStart()
  const end = start.trimEnd()
  return end.endsWith('\\') && end.length < start.length ? `${end} ` : end
}

const comparable = (value: string): string => {
  const text = trimmed(value)
  const inner =
    text.startsWith('"') && text.endsWith('"') && text.length > 1 ? text.slice(1, -1) : text
  // What most names are: nothing to normalize.
  if (/^[!-[\]-~]*$/.test(inner)) return inner.toLowerCase()
  return unescaped(inner).normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}

/** Characters that mean nothing in a DN; single spaces may stand between them. */
const words = "[\\w.@'/:()&-]+(?: [\\w.@'/:()&-]+)*"
const plainValue = new RegExp(`^${words}$`)
/** What most DNs are: of a comparable form but for their case. */
const plainDn = new RegExp(`^[a-z][a-z0-9-]*=${words}(?:,[a-z][a-z0-9-]*=${words})*$`, 'i')

const pairOf = (pair: string): string => {
  const at = pair.indexOf('=')
  if (at < 0) return `\u0000${pair}`
  const type = pair.slice(0, at).trim().toLowerCase()
  const value = comparable(pair.slice(at + 1))
  return `${type}=${plainValue.test(value) ? value : JSON.stringify(value)}`
}

const rdnOf = (rdn: string): string => split(rdn, '+').map(pairOf).sort().join('+')

/** Of the DNs above entries, which thousands of entries share. */
const parents = new Map<string, readonly string[]>()
const mostParents = 1000

const parentParts = (dn: string): readonly string[] => {
  const known = parents.get(dn)
  if (known) return known
  const parts = split(dn, ',;').map(rdnOf)
  if (parents.size >= mostParents) parents.clear()
  parents.set(dn, parts)
  return parts
}

/** Where the first name ends, of a DN in which nothing is escaped or quoted before. */
const plainStart = /^[^,;"\\]*[,;]/

/** The names of which it is made, each in a form that is equal for equal names; the root last. */
const partsOf = (dn: string): readonly string[] => {
  if (dn.trim() === '') return []
  const [start] = plainStart.exec(dn) ?? []
  return start === undefined
    ? split(dn, ',;').map(rdnOf)
    : [rdnOf(start.slice(0, -1)), ...parentParts(dn.slice(start.length))]
}

/** A form that is equal for equal names. */
export const comparableDn = (dn: string): string =>
  plainDn.test(dn) ? dn.toLowerCase() : partsOf(dn).join(',')

/** The comparable form of a DN that is the base or lies below it, and undefined for another. */
export const dnWithin = (base: string): ((dn: string) => string | undefined) => {
  const wanted = partsOf(base)
  const above = comparableDn(base)
  const ending = wanted.length === 0 ? '' : `,${above}`
  return (dn) => {
    if (plainDn.test(dn)) {
      const plain = dn.toLowerCase()
      // In a plain DN every comma separates two names.
      return plain === above || plain.endsWith(ending) ? plain : undefined
    }
    const parts = partsOf(dn)
    const own = parts.length - wanted.length
    return own >= 0 && wanted.every((part, i) => parts[own + i] === part)
      ? parts.join(',')
      : undefined
  }
}

/** Whether the entry is the base or lies below it. */
export const isBelow = (dn: string, base: string): boolean => dnWithin(base)(dn) !== undefined
