/**
 * The text of a file with its secrets masked, so that lines of it can be shown: pipeline logs have more readers than the
 * files. It works on text, because an invalid file is shown too, and rather masks too much.
 */

import { kinds } from '#schemas/registry.ts'
import { secretFields } from '#schemas/walk.ts'

const secretNames = new Set(
  kinds.flatMap((kind) =>
    secretFields(kind).map(({ pointer }) => pointer.slice(pointer.lastIndexOf('/') + 1)),
  ),
)

/** The fields that hold secrets, and what looks like one that was misspelt. */
const isSecretName = (name: string): boolean =>
  secretNames.has(name) || /(?:secret|password|passwd|token|private_?key|salt)s?$/i.test(name)

const key = /(?<=^|[\s,{[])(["']?)([A-Za-z_][\w.-]*)\1[ \t]*:(?=\s|$|["'])[ \t]*/g
const properties = /^(?:[&!][^\s,}\]]*[ \t]+)*/
const reference = /^(["']?)\$\{(?:env|file|sops|exec|var):[^}]*\}\1[ \t]*(?=$|[,}#])/

const dots = (text: string): string => '•'.repeat(text.length)

/** How long the value is that begins here, as far as this line tells. */
const lengthOf = (text: string, inFlow: boolean): number => {
  const quoted = /^"(?:[^"\\]|\\.)*"|^'(?:[^']|'')*'/.exec(text)
  if (quoted) return quoted[0].length
  const plain = inFlow ? /^[^,}\]]*/ : /^.*?(?=\s+#|\s*$)/
  return plain.exec(text)?.[0].length ?? text.length
}

/** Hides values on one line; says at which column a key stands whose value may go on below, or nothing. */
const maskLine = (line: string): { readonly text: string; readonly column: number | undefined } => {
  let text = line
  let column: number | undefined
  for (const match of line.matchAll(key)) {
    if (!isSecretName(match[2] ?? '')) continue
    const start = match.index + match[0].length
    const from = start + (properties.exec(line.slice(start))?.[0].length ?? 0)
    const value = line.slice(from)
    if (value.startsWith('*') || reference.test(value)) continue
    column = match.index
    if (/^[|>]/.test(value)) continue
    const length = lengthOf(value, /[{[,]\s*$/.test(line.slice(0, match.index)))
    text = text.slice(0, from) + dots(value.slice(0, length)) + text.slice(from + length)
  }
  return { text, column }
}

/** Every character of the file keeps its line and column. */
export const maskSecrets = (text: string): string => {
  let below: number | undefined
  return text
    .split(/(\r\n?|\n)/)
    .map((line, i) => {
      if (i % 2 === 1) return line
      const indentation = line.search(/\S/)
      if (below !== undefined && (indentation === -1 || indentation > below))
        return line.slice(0, Math.max(0, indentation)) + dots(line.trim())
      const masked = maskLine(line)
      below = masked.column
      return masked.text
    })
    .join('')
}
