/** The text of a mail in HTML, for readers that show none: links keep their address, paragraphs their place. */

const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, ...groups) => {
    const [decimal, hexadecimal, name] = groups as (string | undefined)[]
    if (name !== undefined) return named[name.toLowerCase()] ?? whole
    const point = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal)
    return point <= 0x10_ffff ? String.fromCodePoint(point) : whole
  })

/** Elements without visible text. */
const hidden: ReadonlySet<string> = new Set(['head', 'style', 'script', 'title', 'template'])
const blocks = /^(?:p|div|table|ul|ol|h[1-6]|section|article|header|footer|blockquote|pre)$/
const lines = /^(?:br|li|tr|hr)$/

const hrefIn = (tag: string): string | undefined => {
  const [, double, single, bare] =
    /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(tag) ?? []
  return double ?? single ?? bare
}

/** One pass over tags and texts; it need not be a browser, only lose no word and no link. */
export const textOfHtml = (html: string): string => {
  const parts: string[] = []
  let skipped: string | undefined
  let link: { readonly href: string; readonly from: number } | undefined
  const pieces = html.replace(/<!--[\s\S]*?(?:-->|$)/g, '').split(/(<[^<>]*>)/)
  for (const piece of pieces) {
    const [, slash, name] = /^<(\/?)([a-z][a-z0-9]*)/i.exec(piece) ?? []
    const element = name?.toLowerCase()
    if (skipped !== undefined) {
      if (slash === '/' && element === skipped) skipped = undefined
    } else if (element === undefined) {
      if (!/^<[!?]/.test(piece)) parts.push(decoded(piece.replace(/\s+/g, ' ')))
    } else if (hidden.has(element)) {
      if (slash === '') skipped = element
    } else if (element === 'a') {
      if (slash === '') link = { href: decoded(hrefIn(piece) ?? ''), from: parts.length }
      else if (link !== undefined) {
        const shown = parts.slice(link.from).join('').trim()
        if (link.href !== '' && link.href !== shown) parts.push(` (${link.href})`)
        link = undefined
      }
    } else if (blocks.test(element)) parts.push('\n\n')
    else if (lines.test(element)) parts.push('\n')
  }
  return `${parts
    .join('')
    .replace(/ {2,}/g, ' ')
    .replace(/ *\n */g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`
}
