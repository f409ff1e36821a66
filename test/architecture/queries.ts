/** The queries of the server: which file reads or writes which table. */
import { isNode, literal, memberOf, type Node, nameOf, type SourceFile } from './tree.ts'

export interface Query {
  readonly path: string
  readonly line: number
  readonly how: 'read' | 'write'
  /** Undefined where neither the statement nor its file names a table. */
  readonly table: string | undefined
}

/** The methods of Kysely that take a table. */
const builders: Readonly<Record<string, Query['how']>> = {
  insertInto: 'write',
  replaceInto: 'write',
  mergeInto: 'write',
  updateTable: 'write',
  deleteFrom: 'write',
  selectFrom: 'read',
  from: 'read',
  using: 'read',
  innerJoin: 'read',
  leftJoin: 'read',
  rightJoin: 'read',
  fullJoin: 'read',
  crossJoin: 'read',
}

/** The functions of `server/storage/statements.ts` whose second argument is the table that they write. */
const makers: ReadonlySet<string> = new Set(['insertRows', 'changeRows', 'take'])

/** Stands for an expression in the text of a template. */
const hole = '\u0000'

const written =
  /\b(?:insert\s+into|replace\s+into|merge\s+into|delete\s+from|update)\s+"?(\w+|\0)"?(?=\s|$|\0)(\s+set\b)?/gi
/** One table, or several with commas between them. */
const read = /\b(?:from|join|using)\s+((?:"?\w+"?(?:\s+as\s+\w+)?\s*,\s*)*"?\w+)/gi

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** The text of a string or of a template, with its holes. */
const textOf = (node: Node): string | undefined => {
  if (node.type !== 'TemplateLiteral') return literal(node)
  const quasis = list(node['quasis']) as { value?: { cooked?: string } }[]
  return quasis.map(({ value }) => value?.cooked ?? '').join(hole)
}

/** What a file calls the functions of `server/storage/statements.ts` that write. */
const makersIn = (node: Node): string[] => {
  const isOfStatements =
    node.type === 'ImportDeclaration' && literal(node['source']) === '#server/storage/statements.ts'
  if (!isOfStatements) return []
  return list(node['specifiers'])
    .filter(isNode)
    .filter((specifier) => makers.has(nameOf(specifier['imported']) ?? ''))
    .flatMap((specifier) => nameOf(specifier['local']) ?? [])
}

/** The first arguments of a builder: a table, or a list of tables. */
const tablesIn = ([first]: readonly unknown[]): (string | undefined)[] =>
  (isNode(first) && first.type === 'ArrayExpression' ? list(first['elements']) : [first]).map(
    (one) => literal(one)?.replace(/\s+as\s+\w+$/i, ''),
  )

/** The tables that a node reads or writes; undefined stands for one that the node does not name. */
const queriesAt = (
  node: Node,
  parent: Node,
  local: ReadonlySet<string>,
): [how: Query['how'], table: string | undefined][] => {
  if (node.type === 'CallExpression') {
    const args = list(node['arguments'])
    const name = memberOf(node['callee']) ?? ''
    const how = builders[name]
    if (how === 'write') return tablesIn(args).map((table) => [how, table])
    // Joins take rows of the same statement too, and so do selections.
    const isVariable = isNode(args[0]) && args[0].type === 'Identifier' && name === 'selectFrom'
    if (how === 'read')
      return tablesIn(args).flatMap((table) =>
        table === undefined && !isVariable ? [] : [[how, table]],
      )
    return local.has(nameOf(node['callee']) ?? '') ? [['write', literal(args[1])]] : []
  }
  const text = textOf(node)
  if (text === undefined) return []
  const isSql = parent.type === 'TaggedTemplateExpression' && nameOf(parent['tag']) === 'sql'
  const writes = [...text.matchAll(written)]
    .filter(([all, , set]) => !/^update/i.test(all) || set !== undefined)
    .map(([, table]): ['write', string | undefined] => [
      'write',
      table === hole ? undefined : table,
    ])
  const reads = isSql ? [...text.matchAll(read)] : []
  return [
    ...writes,
    ...reads
      .flatMap(([, names = '']) => names.split(','))
      .map((name): ['read', string] => [
        'read',
        name.replace(/\s+as\s+\w+\s*$/i, '').replace(/["\s]/g, ''),
      ]),
  ]
}

/** A query of a table that stands in a variable counts as a query of every table that the file names. */
export const queriesIn = (file: SourceFile, tables: ReadonlySet<string>): Query[] => {
  const { path } = file
  const found: Query[] = []
  const named = new Set<string>()
  const unnamed: Pick<Query, 'line' | 'how'>[] = []
  const local = new Set<string>()
  file.walk((node, parent) => {
    for (const name of makersIn(node)) local.add(name)
    const value = literal(node)
    if (value !== undefined && tables.has(value)) named.add(value)
    for (const [how, table] of queriesAt(node, parent, local)) {
      const line = file.lineOf(node)
      // A name that is none of a table stands for rows that the statement itself makes (WITH).
      if (table !== undefined && tables.has(table)) found.push({ path, line, how, table })
      else if (table === undefined) unnamed.push({ line, how })
    }
  })
  const any = named.size > 0 ? [...named] : [undefined]
  const inVariables = unnamed.flatMap(({ line, how }) =>
    any.map((table): Query => ({ path, line, how, table })),
  )
  return [...found, ...inVariables]
}
