/**
 * JSON as YAML 1.2: the outer levels as blocks, and what fits on a line in braces. Strings are quoted as in JSON unless they are
 * words. It is brief, because tools keep only the first MiB of a response.
 */

const lineLength = 160

/** Words that are no strings in YAML 1.1 stay in quotes. */
const plain = /^(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z_$/][a-z0-9_$/.-]*$/i

/** JSON leaves these as they are. */
const unprintable = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

const scalar = (value: unknown): string =>
  typeof value === 'string' && plain.test(value)
    ? value
    : JSON.stringify(value).replace(
        unprintable,
        (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Undefined where it is longer than `room`. */
const inLine = (value: unknown, room: number): string | undefined => {
  if (!isNested(value)) return scalar(value)
  const parts: string[] = []
  let left = room - 2
  const list = Array.isArray(value)
  for (const [key, one] of Object.entries(value)) {
    const text = left < 0 ? undefined : inLine(one, left)
    if (text === undefined) return undefined
    const part = list ? text : `${scalar(key)}: ${text}`
    parts.push(part)
    left -= part.length + 2
  }
  if (left < -2) return undefined
  return list ? `[${parts.join(', ')}]` : `{${parts.join(', ')}}`
}

const lines = (value: object, indent: string, out: string[]): void => {
  const list = Array.isArray(value)
  for (const [key, one] of Object.entries(value)) {
    const head = list ? `${indent}-` : `${indent}${scalar(key)}:`
    const text = inLine(one, lineLength - head.length)
    if (text !== undefined || !isNested(one)) {
      out.push(`${head} ${text ?? scalar(one)}`)
      continue
    }
    out.push(head)
    lines(one, `${indent} `, out)
  }
}

export const toYaml = (value: object): string => {
  const out: string[] = []
  lines(value, '', out)
  return `${out.join('\n')}\n`
}
