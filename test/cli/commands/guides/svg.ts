/** Terminal output with ANSI colours (ECMA-48 SGR) as an SVG picture. */

const lineHeight = 20
const charWidth = 8.4
const margin = 18
const top = 42

/** Colours on the dark background; contrast 4.5:1 or more (WCAG 2.2, 1.4.3). */
const colours: Readonly<Record<number, string>> = {
  31: '#ff7b72',
  32: '#56d364',
  33: '#e3b341',
  36: '#76e3ea',
}

interface Style {
  bold: boolean
  dim: boolean
  colour: string | undefined
}

const apply = (style: Style, code: number): Style => {
  if (code === 0) return { bold: false, dim: false, colour: undefined }
  if (code === 1) return { ...style, bold: true }
  if (code === 2) return { ...style, dim: true }
  if (code === 22) return { ...style, bold: false, dim: false }
  if (code === 39) return { ...style, colour: undefined }
  const colour = colours[code]
  if (colour === undefined) throw new Error(`no colour for SGR ${code}`)
  return { ...style, colour }
}

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    // Renderers disagree about xml:space; a no-break space is never collapsed.
    .replaceAll(' ', '\u00a0')

const span = (text: string, { bold, dim, colour }: Style): string => {
  if (text === '') return ''
  const fill = colour ?? (dim ? '#9198a1' : undefined)
  const attributes = `${fill === undefined ? '' : ` fill="${fill}"`}${bold ? ' font-weight="bold"' : ''}`
  return attributes === '' ? escaped(text) : `<tspan${attributes}>${escaped(text)}</tspan>`
}

/** Output without its last newline; `title` stands in the bar of the window and is the text alternative. */
export const svgOf = (title: string, output: string): string => {
  let style: Style = apply({ bold: false, dim: false, colour: undefined }, 0)
  const lines = output.split('\n')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequence is what is looked for
  const sequence = /\u001b\[(\d*)m/
  let longest = 0
  const texts = lines.map((line, i) => {
    const parts = line.split(sequence)
    let length = 0
    const spans = parts.map((part, j) => {
      if (j % 2 === 1) {
        style = apply(style, Number(part))
        return ''
      }
      length += part.length
      return span(part, style)
    })
    longest = Math.max(longest, length)
    const y = top + margin + i * lineHeight
    return `<text x="${margin}" y="${y}">${spans.join('')}</text>`
  })
  const width = Math.ceil(longest * charWidth + 2 * margin)
  const height = top + margin + lines.length * lineHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
<rect width="${width}" height="${height}" rx="8" fill="#161b22"/>
<g fill="#3d444d"><circle cx="20" cy="19" r="6"/><circle cx="40" cy="19" r="6"/><circle cx="60" cy="19" r="6"/></g>
<g fill="#d1d7e0" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
<text x="${width / 2}" y="24" text-anchor="middle" fill="#9198a1">${escaped(title)}</text>
${texts.join('\n')}
</g>
</svg>
`
}
