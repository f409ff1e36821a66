/** The cookies of one server. Paths and hosts are all the same: there is one server, and all of it is ours. */

export interface Jar {
  get(name: string): string | undefined
  /** As the `Cookie` header has it; undefined while there are none. */
  header(): string | undefined
  /** Takes what a response sets, and drops what it lets expire. */
  store(setCookie: string | readonly string[] | undefined): void
  entries(): Readonly<Record<string, string>>
  clear(): void
}

/** Characters allowed in a `Cookie` header (RFC 6265 §4.1.1); other cookies are dropped, as browsers do. */
const isName = /^[\w!#$%&'*+.^`|~-]+$/
const isValue = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/

const isOver = (attributes: readonly string[]): boolean =>
  attributes.some((attribute) => {
    const cut = attribute.indexOf('=')
    const name = attribute.slice(0, cut).trim().toLowerCase()
    const value = attribute.slice(cut + 1).trim()
    if (name === 'max-age') return Number(value) <= 0
    return name === 'expires' && Date.parse(value) <= Date.now()
  })

export const createJar = (known: Readonly<Record<string, string>> = {}): Jar => {
  const cookies = new Map(Object.entries(known))
  return {
    get: (name) => cookies.get(name),
    header: () =>
      cookies.size === 0
        ? undefined
        : [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    store(lines = []) {
      for (const line of typeof lines === 'string' ? [lines] : lines) {
        const [pair = '', ...attributes] = line.split(';')
        const cut = pair.indexOf('=')
        const name = pair.slice(0, cut).trim()
        const value = pair.slice(cut + 1).trim()
        if (!isName.test(name) || !isValue.test(value)) continue
        if (isOver(attributes)) cookies.delete(name)
        else cookies.set(name, value)
      }
    },
    entries: () => Object.fromEntries(cookies),
    clear: () => cookies.clear(),
  }
}
