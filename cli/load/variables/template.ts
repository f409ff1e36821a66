/** The references that a text may hold: `${var:NAME}`, `${env:NAME}`, `${file:PATH}`, `${sops:FILE#KEY}`, `${exec:COMMAND}`. */

export type Part =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'var'
      readonly name: string
      readonly fallback: string | null
      /** As it is written. */
      readonly written: string
    }
  | {
      readonly type: 'env' | 'file' | 'sops' | 'exec'
      readonly argument: string
      readonly written: string
    }
  | {
      readonly type: 'wrong'
      readonly message: string
      readonly hint: string
      readonly written: string
    }

export type Reference = Extract<Part, { type: 'env' | 'file' | 'sops' | 'exec' }>

const variableName = '[A-Za-z_][A-Za-z0-9_.-]*'
const variable = new RegExp(`^(${variableName})(?::-(.*))?$`, 's')
const wholeVariableName = new RegExp(`^${variableName}$`)

export const isVariableName = (name: string): boolean => wholeVariableName.test(name)

const known =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
  '${var:NAME}, ${var:NAME:-default}, ${env:NAME}, ${file:PATH}, ${sops:FILE#KEY} and ${exec:COMMAND}'
const literally = 'write $${ where ${ itself is meant'

const referenceOf = (written: string, body: string): Part => {
  const [, scheme = '', argument = ''] = /^([A-Za-z][A-Za-z0-9_-]*):(.*)$/s.exec(body) ?? []
  if (scheme === 'var') {
    const [, name, fallback] = variable.exec(argument) ?? []
    if (name !== undefined) return { type: 'var', name, fallback: fallback ?? null, written }
    const hint = 'a name begins with a letter, followed by letters, digits, "_", "-" or "."'
    return { type: 'wrong', message: `${written} does not name a variable`, hint, written }
  }
  if (scheme === 'sops' && !/^[^#]+#[^#]+$/.test(argument)) {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
    const hint = 'write ${sops:FILE#KEY}, such as ${sops:secrets/prod.yaml#clients.web}'
    return { type: 'wrong', message: `${written} does not name a key of a file`, hint, written }
  }
  if (scheme === 'env' || scheme === 'file' || scheme === 'sops' || scheme === 'exec') {
    if (argument.trim() !== '') return { type: scheme, argument, written }
    return { type: 'wrong', message: `${written} has no name`, hint: `write ${known}`, written }
  }
  return {
    type: 'wrong',
    message: `there is no reference ${written}`,
    hint: `these exist: ${known}; ${literally}`,
    written,
  }
}

/** Takes a text apart; `$${` is a literal `${`. */
export const parseTemplate = (text: string): readonly Part[] => {
  const parts: Part[] = []
  let plain = ''
  let from = 0
  for (;;) {
    const at = text.indexOf('${', from)
    if (at === -1) break
    if (at > from && text[at - 1] === '$') {
      plain += text.slice(from, at - 1) + text.slice(at, at + 2)
      from = at + 2
      continue
    }
    plain += text.slice(from, at)
    // A command may hold braces of its own, and nothing else stands beside it.
    const isCommand = at === 0 && text.startsWith('${exec:')
    const end = isCommand ? text.lastIndexOf('}') : text.indexOf('}', at)
    if (plain !== '') parts.push({ type: 'text', text: plain })
    plain = ''
    if (end === -1) {
      const written = text.slice(at)
      const message = 'this reference is not closed'
      return [...parts, { type: 'wrong', message, hint: `add the "}"; ${literally}`, written }]
    }
    parts.push(referenceOf(text.slice(at, end + 1), text.slice(at + 2, end)))
    from = end + 1
  }
  plain += text.slice(from)
  if (plain !== '' || parts.length === 0) parts.push({ type: 'text', text: plain })
  return parts
}

/** Literal text in a form from which `parseTemplate` gives it back. */
export const escapeText = (text: string): string => text.replaceAll('${', '$$${')

export const isReference = (part: Part): part is Reference =>
  part.type === 'env' || part.type === 'file' || part.type === 'sops' || part.type === 'exec'

/** The one reference that a text is, where nothing stands beside it. */
export const onlyReference = (parts: readonly Part[]): Reference | undefined => {
  const [first] = parts
  return parts.length === 1 && first !== undefined && isReference(first) ? first : undefined
}
