/** Realm files as people and programs write them: any order, any style, comments where YAML allows them. */
import fc from 'fast-check'

type Tree = string | number | boolean | null | readonly Tree[] | { readonly [key: string]: Tree }

const words = fc.constantFrom(
  ...[
    'plain',
    'two words',
    'yes',
    '007',
    'a: b',
    '#x',
    '- y',
    '',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
    '${var:X}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
    '${var:Y:-1}/z',
    "it's",
  ],
  ...[
    '"q"',
    'https://a.example/cb',
    '*',
    '&z',
    '~',
    '1e3',
    'ü',
    'line\nbreak',
    'para\n\ngraph\n',
    ' sp ',
  ],
)
const leaf: fc.Arbitrary<Tree> = fc.oneof(
  { weight: 5, arbitrary: words },
  fc.integer({ min: -5, max: 5000 }),
  fc.boolean(),
  fc.constant(null),
)
const keys = fc.constantFrom(
  ...[
    'realm',
    'settings',
    'clients',
    'roles',
    'groups',
    'name',
    'clientId',
    'displayName',
    'users',
  ],
  ...[
    'attributes',
    'description',
    'passwordPolicy',
    'length',
    'unknown',
    'redirectUris',
    'enabled',
  ],
)
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'tree' },
    { weight: 2, arbitrary: leaf },
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(keys, tie('tree'), { maxKeys: 5, noNullPrototype: true }),
  ),
}))

const root = fc.dictionary(keys, tree, { minKeys: 1, maxKeys: 6, noNullPrototype: true })

/** A source of choices that shrinks along with the tree. */
type Dice = (sides: number) => number

const isScalar = (value: Tree): value is string | number | boolean | null =>
  value === null || typeof value !== 'object'

const quoted = (text: string, dice: Dice): string =>
  dice(2) === 0 && !/[\n]/.test(text) ? `'${text.replaceAll("'", "''")}'` : JSON.stringify(text)

const isSafePlain = (text: string, inFlow: boolean): boolean =>
  /^[A-Za-z$][\w ./:${}~-]*$/.test(text) &&
  !/[: ]$|: | $/.test(text) &&
  !/^(yes|no|on|off|true|false|null)$/i.test(text) &&
  !(inFlow && /[{}[\],]/.test(text))

const scalar = (value: string | number | boolean | null, dice: Dice, inFlow: boolean): string => {
  if (typeof value !== 'string') return String(value)
  return isSafePlain(value, inFlow) && dice(3) > 0 ? value : quoted(value, dice)
}

/** In braces a line may end behind a comma, also with a comment. */
const flow = (value: Tree, dice: Dice, comment: () => string): string => {
  if (isScalar(value)) return scalar(value, dice, true)
  const far = ' '.repeat(20)
  const parts = Array.isArray(value)
    ? value.map((one) => flow(one, dice, comment))
    : Object.entries(value).map(([key, one]) => `${key}: ${flow(one, dice, comment)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const lineBreak = (): string => {
    const side = dice(12)
    if (side === 0) return ` ${comment()}\n${far}`
    if (side === 1) return `\n${far}${comment()}\n${far}`
    return side === 2 ? `\n${far}` : ' '
  }
  return `${open}${lineBreak()}${parts.map((part, i) => (i === 0 ? part : `,${lineBreak()}${part}`)).join('')}${lineBreak()}${close}`
}

/** Writes a tree down; the dice decide how. */
export const write = (value: Tree, dice: Dice): string => {
  let notes = 0
  const comment = (): string => {
    notes += 1
    return `# note ${notes}`
  }
  const ownLines = (indent: number): string =>
    Array.from({ length: dice(8) === 0 ? 1 + dice(2) : 0 }, () => {
      const odd = dice(6) === 0 ? dice(3) : 0
      return `${dice(4) === 0 ? '\n' : ''}${' '.repeat(indent + odd)}${comment()}\n`
    }).join('') + (dice(10) === 0 ? '\n' : '')
  const behind = (): string => (dice(8) === 0 ? ` ${comment()}` : '')

  const text = (value: string, indent: number): string => {
    const pad = ' '.repeat(indent)
    const chomp = value.endsWith('\n\n') ? '+' : value.endsWith('\n') ? '' : '-'
    const lines = value.replace(/\n$/, '').split('\n')
    return `|${chomp}\n${lines.map((line) => (line === '' ? '' : pad + line)).join('\n')}\n`
  }
  const block = (value: Tree, indent: number): string => {
    const step = 1 + dice(4)
    const pad = ' '.repeat(indent)
    if (isScalar(value)) {
      const canBlock = typeof value === 'string' && /^\S.*\n/.test(value)
      if (canBlock && dice(2) === 0) return ` ${text(value, indent + 1)}`
      return ` ${scalar(value, dice, false)}${behind()}\n`
    }
    const isEmpty = Object.keys(value).length === 0
    if (isEmpty || dice(4) === 0) return ` ${flow(value, dice, comment)}${behind()}\n`
    const head = `${behind()}\n`
    if (Array.isArray(value)) {
      const items = value.map((one) => {
        const inner = block(one, indent + step)
        return `${ownLines(indent)}${pad}-${inner}`
      })
      return head + items.join('') + ownLines(indent)
    }
    const pairs = Object.entries(value).map(
      ([key, one]) =>
        `${ownLines(indent)}${pad}${dice(9) === 0 ? JSON.stringify(key) : key}:${block(one, indent + step)}`,
    )
    return head + pairs.join('') + ownLines(indent)
  }
  return `${ownLines(0)}${block(value, 0).replace(/^[^\n]*\n/, (line) => (line.trim() === '' ? '' : `${line.trim()}\n`))}`
}

export const realmFile: fc.Arbitrary<string> = fc
  .tuple(root, fc.infiniteStream(fc.nat(0xffff)))
  .map(([value, stream]) => {
    const numbers = stream[Symbol.iterator]()
    return write(value, (sides) => Number(numbers.next().value) % sides)
  })
