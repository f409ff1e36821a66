/** The architecture rules, one function each: from a source tree to the places that break the rule. */

import { crowdedFolders } from './crowds.ts'
import { homelessFiles, importCycles, wrongImports } from './floors.ts'
import { foreignReads, foreignWrites, ownerlessTables } from './tables.ts'
import {
  type Import,
  isNode,
  literal,
  memberOf,
  type Node,
  nameOf,
  type SourceFile,
  type Tree,
} from './tree.ts'

export interface Rule {
  readonly title: string
  readonly broken: (tree: Tree) => string[]
}

const product = /^(schemas|server|cli)\//

const inProduct = ({ files }: Tree, allowed?: RegExp): SourceFile[] =>
  files.filter(({ path }) => product.test(path) && allowed?.test(path) !== true)

/** The nodes of some files that are wrong, with the reason. */
const wrongNodes = (
  files: readonly SourceFile[],
  wrong: (node: Node, parent: Node, property: string) => string | undefined,
): string[] =>
  files.flatMap((file) => {
    const found: string[] = []
    file.walk((node, parent, property) => {
      const reason = wrong(node, parent, property)
      if (reason !== undefined) found.push(`${file.path}:${file.lineOf(node)} ${reason}`)
    })
    return found
  })

/** The imports of packages that are wrong. */
const wrongPackages = (
  files: readonly SourceFile[],
  wrong: (specifier: string, how: Import['how']) => boolean,
): string[] =>
  files.flatMap(({ path, imports }) =>
    imports
      .filter(({ inside, target, how }) => !inside && wrong(target, how))
      .map(({ target, line }) => `${path}:${line} imports ${target}`),
  )

/** An identifier that stands for a value, not for the name of a property or of a type. */
const isReference = (parent: Node, property: string): boolean =>
  !(property === 'property' && parent['computed'] !== true) &&
  !(property === 'key' && parent['computed'] !== true) &&
  !parent.type.startsWith('TS') &&
  parent.type !== 'ImportSpecifier'

const ofGlobal = (node: Node): string | undefined =>
  nameOf(node['object']) === 'globalThis' ? memberOf(node) : undefined

/** Which packages a file's local names come from: `{ http: 'node:http' }`, or `{ get: 'node:http#get' }`. */
const importedNames = (node: Node): [local: string, from: string][] => {
  if (node.type !== 'ImportDeclaration' || node['importKind'] === 'type') return []
  const from = literal(node['source']) ?? ''
  const specifiers: unknown[] = Array.isArray(node['specifiers']) ? node['specifiers'] : []
  return specifiers.filter(isNode).map((specifier) => {
    const imported = nameOf(specifier['imported'])
    return [nameOf(specifier['local']) ?? '', imported === undefined ? from : `${from}#${imported}`]
  })
}

const writesToStdout = (tree: Tree): string[] => {
  // Scripts whose whole purpose is to print, beside the views and the logger.
  const allowed = /^(cli\/views\/.*|server\/platform\/logger\.ts|server\/admin\/print-routes\.ts)$/
  const files = inProduct(tree, allowed)
  return [
    ...wrongPackages(files, (name) => /^(node:)?console$/.test(name)),
    ...wrongNodes(files, (node, parent, property) => {
      if (nameOf(node) === 'console' && isReference(parent, property)) return 'uses console'
      if (ofGlobal(node) === 'console') return 'uses console'
      if (memberOf(node) === 'stdout' && nameOf(node['object']) === 'process')
        return 'uses process.stdout'
      if (importedNames(node).some(([, from]) => /^(node:)?process#stdout$/.test(from)))
        return 'imports stdout'
      const args = Array.isArray(node['arguments']) ? node['arguments'] : []
      const callee = nameOf(node['callee']) ?? memberOf(node['callee'])
      const first: unknown = args[0]
      if (callee === 'writeSync' && isNode(first) && first['value'] === 1) return 'writes to fd 1'
      return undefined
    }),
  ]
}

const requestsOutside = (tree: Tree): string[] => {
  // The server asks the world through its guarded client; the CLI asks its server through its own.
  const files = inProduct(tree, /^(server\/platform\/outgoing|cli\/client)\//)
  const dialers = /^(node:)?https?#(request|get)$/
  return [
    ...wrongPackages(files, (name) => /^undici(\/|$)/.test(name)),
    ...files.flatMap((file) => {
      const local = new Map<string, string>()
      return wrongNodes([file], (node, parent, property) => {
        const names = importedNames(node)
        for (const [name, from] of names) local.set(name, from)
        if (names.some(([, from]) => dialers.test(from))) return 'imports a way to make requests'
        const name = isReference(parent, property) ? nameOf(node) : undefined
        const global = name ?? ofGlobal(node)
        if (global === 'fetch' || global === 'WebSocket' || global === 'EventSource')
          return `uses ${global}`
        const object = local.get(nameOf(node['object']) ?? '')
        return dialers.test(`${object}#${memberOf(node)}`) ? 'makes a request' : undefined
      })
    }),
  ]
}

/** The names that the kinds give themselves: `defineKind({ kind: 'webhook', … })`. */
export const kindNames = ({ files }: Tree): ReadonlySet<string> => {
  const names = new Set<string>()
  for (const file of files.filter(({ path }) => path.startsWith('schemas/kinds/')))
    file.walk((node, parent) => {
      if (node.type !== 'Property' || parent.type !== 'ObjectExpression') return
      const name = nameOf(node['key']) === 'kind' ? literal(node['value']) : undefined
      if (name !== undefined) names.add(name)
    })
  return names
}

const asksForKind = (tree: Tree): string[] => {
  const names = kindNames(tree)
  const isKind = (value: unknown): boolean => {
    const node = isNode(value) && value.type === 'ChainExpression' ? value['expression'] : value
    return nameOf(node) === 'kind' || memberOf(node) === 'kind'
  }
  const isName = (value: unknown): boolean => names.has(literal(value) ?? '')
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
  return wrongNodes(inProduct(tree, /^(schemas\/kinds|server\/realm\/behaviours)\//), (node) => {
    if (node.type === 'SwitchStatement' && isKind(node['discriminant'])) {
      const cases = list(node['cases']).filter(isNode)
      return cases.some((one) => isName(one['test'])) ? 'switches on the kind' : undefined
    }
    if (node.type === 'BinaryExpression' && /^[!=]==?$/.test(String(node['operator']))) {
      const [left, right] = [node['left'], node['right']]
      if ((isKind(left) && isName(right)) || (isKind(right) && isName(left)))
        return 'compares a kind'
    }
    const callee = node.type === 'CallExpression' ? node['callee'] : undefined
    if (isNode(callee) && memberOf(callee) === 'includes' && isNode(callee['object'])) {
      const listed = list(callee['object']['elements']).some(isName)
      if (listed && list(node['arguments']).some(isKind)) return 'looks a kind up in a list'
    }
    return undefined
  })
}

/** JWTs of others that the server reads: assertions of clients and of other servers, tokens of workloads and of providers. */
const foreignJwts =
  /^server\/(tokens\/|broker\/|oidc\/client-auth\/assertion\.ts$|oidc\/token\/grants\/cross-application\/read-assertion\.ts$|provisioning\/workload\/workload-token\.ts$)/

/** A form of its own of “is the token for us” is how a token for another service is let in. */
const readsAudience = ({ files }: Tree): string[] =>
  wrongNodes(
    files.filter(({ path }) => path.startsWith('server/') && !foreignJwts.test(path)),
    (node, parent) => {
      const object = node['object']
      const isClaims = /claims$/i.test(nameOf(object) ?? memberOf(object) ?? '')
      if (memberOf(node) === 'aud' && isClaims) return 'reads the audience of a token'
      return parent.type === 'ObjectPattern' && nameOf(node['key']) === 'aud'
        ? 'reads the audience of a token'
        : undefined
    },
  )

/** Formats that a command may be asked for: a comparison with one of them is a view that is chosen a second time. */
const formats = new Set(['human', 'json', 'yaml', 'markdown', 'github', 'sarif', 'junit'])

const asksForFormat = (tree: Tree): string[] => {
  const files = tree.files.filter(
    ({ path }) => path.startsWith('cli/') && !/^cli\/invocation\/(output|command)\.ts$/.test(path),
  )
  const isChoice = (value: unknown): boolean =>
    /^(output|format)$/.test(nameOf(value) ?? memberOf(value) ?? '')
  const isFormat = (value: unknown): boolean => formats.has(literal(value) ?? '')
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
  return wrongNodes(files, (node, parent, property) => {
    if (memberOf(node) === 'IAMCTL_OUTPUT') return 'reads IAMCTL_OUTPUT'
    if (memberOf(node) === 'output' && property !== 'left') return 'reads the output format'
    if (parent.type === 'ObjectPattern' && nameOf(node['key']) === 'output')
      return 'reads the output format'
    if (node.type === 'BinaryExpression' && /^[!=]==?$/.test(String(node['operator']))) {
      const [left, right] = [node['left'], node['right']]
      if ((isChoice(left) && isFormat(right)) || (isChoice(right) && isFormat(left)))
        return 'compares the output format'
    }
    if (node.type === 'SwitchStatement' && isChoice(node['discriminant'])) {
      const cases = list(node['cases']).filter(isNode)
      return cases.some((one) => isFormat(one['test']))
        ? 'switches on the output format'
        : undefined
    }
    const callee = node.type === 'CallExpression' ? node['callee'] : undefined
    if (isNode(callee) && memberOf(callee) === 'includes' && isNode(callee['object'])) {
      const listed = list(callee['object']['elements']).some(isFormat)
      if (listed && list(node['arguments']).some(isChoice)) return 'looks the output format up'
    }
    return undefined
  })
}

/** Logic that several views show: it returns values, and a view is chosen by the command. */
const viewless = /^cli\/(load|validate|planning|adopt)\//

const importsViews = ({ files }: Tree): string[] =>
  files
    .filter(({ path }) => viewless.test(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ inside, target }) => inside && target.startsWith('cli/views/'))
        .map(({ target, line }) => `${path}:${line} imports ${target}`),
    )

/** What every command loads: files that are imported at the start, as far as one leads to the other. */
const heavyStart = ({ files }: Tree): string[] => {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const reached = new Set(['cli/program.ts'])
  const broken: string[] = []
  for (const path of reached)
    for (const { target, inside, how, line } of byPath.get(path)?.imports ?? []) {
      if (how !== 'value') continue
      if (inside) reached.add(target)
      else if (!/^(node:|commander$)/.test(target))
        broken.push(`${path}:${line} imports ${target}, and every command waits for it`)
    }
  return broken
}

const impureImports = ({ files }: Tree): string[] =>
  wrongPackages(
    files.filter(
      ({ path }) =>
        /^(schemas|cli\/planning)\//.test(path) && path !== 'schemas/editor/generate.ts',
    ),
    (name, how) =>
      how !== 'type' &&
      /^((node:)?(fs|fs\/promises|http|https|http2|net|tls|dns|child_process|worker_threads|sqlite)|undici|fastify|pg|kysely)$/.test(
        name,
      ),
  )

/** The composition root, and the function by which each area is opened. */
const composition = /^server\/([a-z-]+\/open|run\/(app|background|start))\.ts$/

/** Names of what a function is given; handing all of it on hides what is needed. */
const bags: ReadonlySet<string> = new Set(['parts', 'needs', 'areas'])

const handsBagOn = ({ files }: Tree): string[] =>
  files
    .filter(({ path }) => path.startsWith('server/'))
    .flatMap((file) =>
      wrongNodes([file], (node, parent) => {
        if (node.type !== 'SpreadElement' || parent.type !== 'ObjectExpression') return undefined
        const isBag = bags.has(nameOf(node['argument']) ?? '')
        return isBag || composition.test(file.path)
          ? 'spreads an object: name what is handed on'
          : undefined
      }),
    )

/** The ways to name a file: `app.ts`, `run/app.ts`, `server/run/app.ts`. */
const endsOf = (path: string): string[] =>
  path.split('/').map((_, index, parts) => parts.slice(index).join('/'))

const namedFiles = (text: string): string[] =>
  [...text.matchAll(/(?<![\w/<>*.…{-])(?:\.{1,2}\/)*((?:[\w.-]+\/)*[\w-][\w.-]*\.ts)\b/g)].map(
    ([, name = '']) => name,
  )

export const rules: readonly Rule[] = [
  { title: 'a folder imports only lower floors and its left neighbours', broken: wrongImports },
  { title: 'every file of the server stands on a floor', broken: homelessFiles },
  { title: 'there is no import cycle', broken: importCycles },
  { title: 'every table has an owner', broken: ownerlessTables },
  { title: 'a table is written from the folder of its owner alone', broken: foreignWrites },
  { title: 'a table of another owner is read for a purpose that is listed', broken: foreignReads },
  { title: 'schemas and the plan do no input or output', broken: impureImports },
  {
    title: 'a source file has at most 400 lines, a test 500',
    broken: ({ files }) =>
      files
        .filter(({ path, lines }) => lines > (path.startsWith('test/') ? 500 : 400))
        .map(({ path, lines }) => `${path} has ${lines} lines`),
  },
  {
    title: 'no folder is a junk drawer',
    broken: ({ paths }) =>
      paths.filter((path) => /(^|\/)(utils?|helpers?|common|lib|misc)\//i.test(path)),
  },
  { title: 'a folder has at most 16 loose files', broken: crowdedFolders },
  {
    title: 'a source file opens with a comment that names its purpose, a kind with its `doc`',
    broken: (tree) =>
      inProduct(tree, /^schemas\/kinds\//)
        .filter(({ comments: [first] }) => first === undefined || first.line > 2)
        .map(({ path }) => path),
  },
  { title: 'only views and the logger write to standard output', broken: writesToStdout },
  {
    title: 'there is one Ajv factory',
    broken: (tree) =>
      wrongPackages(
        inProduct(tree, /^schemas\/ajv\.ts$/),
        // What writes the code of a validator down takes it from the factory.
        (name, how) => how !== 'type' && /^ajv(-|\/(?!dist\/standalone\/)|$)/.test(name),
      ),
  },
  {
    title: 'received XML is read in one folder',
    broken: (tree) =>
      wrongPackages(inProduct(tree, /^server\/xml\//), (name) =>
        /^(saxes|sax|xml-crypto|xml-encryption|samlify|xpath|libxmljs2?|fast-xml-parser|xml2js|xml-js|(@xmldom\/)?xmldom|@node-saml\/.*|@authenio\/.*)(\/|$)/.test(
          name,
        ),
      ),
  },
  { title: 'only the guarded client makes requests', broken: requestsOutside },
  { title: 'nothing but a kind and its behaviour asks which kind it is', broken: asksForKind },
  {
    title: 'the audience of an access token is read in server/tokens alone',
    broken: readsAudience,
  },
  { title: 'an area is opened with what it needs by name', broken: handsBagOn },
  { title: 'the output format of a command is chosen in one place', broken: asksForFormat },
  { title: 'reading, checking, planning and adopting files import no view', broken: importsViews },
  { title: 'a command loads heavy packages when it runs, not at every start', broken: heavyStart },
  {
    title: 'no work is left behind in a comment, and no type error is hidden',
    broken: ({ files }) =>
      files.flatMap(({ path, comments }) =>
        comments
          .filter(({ text }) => /\b(TODO|FIXME)\b|@ts-(ignore|nocheck)/.test(text))
          .map(({ line, text }) => `${path}:${line} ${text.trim()}`),
      ),
  },
  {
    title: 'a comment names no file that is not there, so that a move takes the texts along',
    broken: ({ files, paths }) => {
      const there = new Set(paths.flatMap(endsOf))
      return files.flatMap(({ path, comments }) =>
        comments.flatMap(({ line, text }) =>
          namedFiles(text)
            .filter((name) => !there.has(name))
            .map((name) => `${path}:${line} ${name}`),
        ),
      )
    },
  },
  {
    title: 'the subject of a comment is a noun, not “who”',
    broken: ({ files }) =>
      files.flatMap(({ path, comments }) =>
        comments
          .filter(({ text }) => /^[\s*]*Who\b(?!.*\?)|\b(?:by|to|of|from|for) who\b/m.test(text))
          .map(({ line, text }) => `${path}:${line} ${text.trim()}`),
      ),
  },
]
