/**
 * The source tree as the architecture rules see it: every TypeScript file parsed, with its imports resolved to
 * paths of the repository. Built from a map of path to text, so that a test can plant a tree that breaks a rule.
 */
import { globSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseSync } from 'vite'

export interface Import {
  /** A path of the repository (`server/run/app.ts`), or the specifier of a package (`undici`, `node:http`). */
  readonly target: string
  readonly inside: boolean
  readonly how: 'value' | 'type' | 'dynamic' | 'url'
  readonly line: number
}

export interface Node {
  readonly type: string
  readonly start: number
  readonly [property: string]: unknown
}

export interface SourceFile {
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
  readonly comments: readonly { readonly text: string; readonly line: number }[]
  readonly walk: (visit: (node: Node, parent: Node, property: string) => void) => void
  readonly lineOf: (node: Node) => number
}

export interface Tree {
  readonly files: readonly SourceFile[]
  /** Every file, also those that are not TypeScript. */
  readonly paths: readonly string[]
}

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

/** The text of a string literal or of a template without holes. */
export const literal = (value: unknown): string | undefined => {
  if (!isNode(value)) return undefined
  if (value.type === 'Literal' && typeof value['value'] === 'string') return value['value']
  if (value.type !== 'TemplateLiteral' || !Array.isArray(value['quasis'])) return undefined
  const [only, ...more]: { value?: { cooked?: string } }[] = value['quasis']
  return more.length === 0 ? only?.value?.cooked : undefined
}

/** The name of an identifier. */
export const nameOf = (value: unknown): string | undefined =>
  isNode(value) && value.type === 'Identifier' && typeof value['name'] === 'string'
    ? value['name']
    : undefined

/** The name of a member, `b` for both `a.b` and `a['b']`. */
export const memberOf = (value: unknown): string | undefined => {
  if (!isNode(value) || value.type !== 'MemberExpression') return undefined
  return value['computed'] === true ? literal(value['property']) : nameOf(value['property'])
}

type Visit = (node: Node, parent: Node, property: string) => void

const walk = (node: Node, visit: Visit, parent: Node = node, property = ''): void => {
  visit(node, parent, property)
  for (const key in node) {
    const value = node[key]
    if (!Array.isArray(value)) {
      if (isNode(value)) walk(value, visit, node, key)
      continue
    }
    for (const child of value) if (isNode(child)) walk(child, visit, node, key)
  }
}

const resolve = (from: string, specifier: string): { target: string; inside: boolean } => {
  if (specifier.startsWith('#')) return { target: specifier.slice(1), inside: true }
  if (specifier.startsWith('.'))
    return { target: posix.join(posix.dirname(from), specifier), inside: true }
  return { target: specifier, inside: false }
}

/** The specifier that a node imports, and how. Only statements marked `import type` vanish at run time. */
const importOf = (node: Node): [specifier: string | undefined, how: Import['how']] | undefined => {
  switch (node.type) {
    case 'ImportDeclaration':
      return [literal(node['source']), node['importKind'] === 'type' ? 'type' : 'value']
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return [literal(node['source']), node['exportKind'] === 'type' ? 'type' : 'value']
    case 'ImportExpression':
      return [literal(node['source']), 'dynamic']
    case 'TSImportType':
      return [literal(node['source']) ?? literal(node['argument']), 'type']
    case 'NewExpression': {
      // `new URL('./tree.ts', import.meta.url)`: how a worker thread or a child process is named.
      const first = literal(Array.isArray(node['arguments']) ? node['arguments'][0] : undefined)
      const script =
        nameOf(node['callee']) === 'URL' && first !== undefined && /\.tsx?$/.test(first)
      return script ? [first, 'url'] : undefined
    }
    default:
      return undefined
  }
}

const parse = (path: string, text: string): SourceFile => {
  const { program, comments, errors } = parseSync(path, text)
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`)
  if (!isNode(program)) throw new Error(`${path}: the parser gave no program`)
  const root = program
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length
  const imports: Import[] = []
  walk(root, (node) => {
    const [specifier, how] = importOf(node) ?? []
    if (specifier === undefined || how === undefined) return
    imports.push({ ...resolve(path, specifier), how, line: lineAt(node.start) })
  })
  return {
    path,
    lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    imports,
    comments: comments.map(({ value, start }) => ({ text: value, line: lineAt(start) })),
    walk: (visit) => walk(root, visit),
    lineOf: (node) => lineAt(node.start),
  }
}

/** A tree made of the given texts. */
export const treeOf = (texts: Readonly<Record<string, string>>): Tree => ({
  paths: Object.keys(texts),
  files: Object.entries(texts)
    .filter(([path]) => /\.tsx?$/.test(path))
    .map(([path, text]) => parse(path, text)),
})

/** The tree on disk. */
export const readTree = (root: string): Tree => {
  const found = globSync(['{schemas,server,cli,templates,realms.example,test}/**', '*.ts'], {
    cwd: root,
  })
  const paths = found
    .filter((path) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile())
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
  const read = (path: string): string =>
    /\.tsx?$/.test(path) ? readFileSync(join(root, path), 'utf8') : ''
  return treeOf(Object.fromEntries(paths.map((path) => [path, read(path)])))
}
