/**
 * Allowed imports. A folder imports only folders on lower floors and, on its own floor, those to its left. Imports of
 * types count as well: a type that a lower floor needs belongs to a lower floor.
 */
import type { Import, Tree } from './tree.ts'

/** From the ground up. */
const floors: readonly (readonly string[])[] = [
  ['schemas'],
  ['server/config', 'server/platform', 'server/http'],
  ['server/storage'],
  [
    'server/jobs',
    'server/audit',
    'server/metrics',
    'server/keys',
    'server/messaging',
    'server/xml',
    'server/saml-metadata',
  ],
  ['server/users', 'server/credentials', 'server/tokens', 'server/sessions', 'server/directories'],
  ['server/realm', 'server/webhooks', 'server/broker'],
  ['server/authz', 'server/sign-in'],
  ['server/oidc', 'server/saml', 'server/provisioning'],
  ['server/self-service'],
  ['server/admin'],
  ['server/run'],
]

/** The protocols never import each other, in no direction. */
const strangers: ReadonlySet<string> = new Set([
  'server/oidc',
  'server/saml',
  'server/provisioning',
])

/** The imports that break the rule on purpose: importer, imported file, and how. */
const exceptions: readonly { from: string; to: string; how: Import['how'] }[] = [
  // The CLI starts the server only when it is asked to, and loads nothing of it before.
  { from: 'cli/commands/server/operations.ts', to: 'server/run/main.ts', how: 'dynamic' },
  { from: 'cli/commands/server/operations.ts', to: 'server/run/operations.ts', how: 'dynamic' },
  // Received XML has one reader, also where no server runs.
  {
    from: 'cli/transfer/saml-metadata.ts',
    to: 'server/saml/metadata/sp-document.ts',
    how: 'dynamic',
  },
  // The list of routes is made from a server that is put together for it.
  { from: 'server/admin/print-routes.ts', to: 'server/run/app.ts', how: 'dynamic' },
  { from: 'server/admin/print-routes.ts', to: 'server/run/open.ts', how: 'dynamic' },
]

const order = floors.flatMap((folders, floor) =>
  folders.map((folder, position) => ({ folder, floor, position })),
)

/** The folder of a file that stands in the table, or its first folder. */
export const folderOf = (path: string): string => {
  const [first = '', second = ''] = path.split('/')
  return first === 'server' ? `server/${second}` : first
}

/** Why `from` may not import `to`; nothing when it may. */
const refusal = (from: string, to: string): string | undefined => {
  const [importer, imported] = [folderOf(from), folderOf(to)]
  if (importer === imported || to.endsWith('.json')) return undefined
  if (importer === 'cli') return imported === 'schemas' ? undefined : 'cli imports schemas only'
  const above = order.find(({ folder }) => folder === importer)
  const below = order.find(({ folder }) => folder === imported)
  if (above === undefined) return `${importer} has no floor`
  if (below === undefined) return `${imported} is no place to import from`
  if (strangers.has(importer) && strangers.has(imported))
    return `${importer} and ${imported} never import each other`
  if (below.floor > above.floor) return `${imported} is on a higher floor than ${importer}`
  if (below.floor === above.floor && below.position > above.position)
    return `${imported} stands to the right of ${importer} on its floor`
  return undefined
}

const isProduct = (path: string): boolean => /^(schemas|server|cli)\//.test(path)

export const wrongImports = ({ files }: Tree): string[] =>
  files
    .filter(({ path }) => isProduct(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ inside }) => inside)
        .filter(
          ({ target, how }) =>
            !exceptions.some((one) => one.from === path && one.to === target && one.how === how),
        )
        .flatMap(({ target, line }) => {
          const reason = refusal(path, target)
          return reason === undefined ? [] : [`${path}:${line} imports ${target}: ${reason}`]
        }),
    )

export const homelessFiles = ({ files }: Tree): string[] =>
  files
    .map(({ path }) => path)
    .filter((path) => path.startsWith('server/'))
    .filter((path) => !order.some(({ folder }) => folder === folderOf(path)))
    .map((path) => `${path}: ${folderOf(path)} has no floor`)

/** Strongly connected files (Tarjan), along all imports, of types too: files of a circle can only be read together. */
export const importCycles = ({ files }: Tree): string[] => {
  const edges = new Map(
    files.map(({ path, imports }) => [
      path,
      imports.filter(({ inside }) => inside).map(({ target }) => target),
    ]),
  )
  const index = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[] = []
  const visit = (path: string): number => {
    const own = index.size
    index.set(path, own)
    stack.push(path)
    let lowest = own
    for (const target of edges.get(path) ?? []) {
      if (!edges.has(target)) continue
      if (!index.has(target)) lowest = Math.min(lowest, visit(target))
      else if (stack.includes(target)) lowest = Math.min(lowest, index.get(target) ?? own)
    }
    if (lowest === own) {
      const members = stack.splice(stack.indexOf(path))
      const selfImport = edges.get(path)?.includes(path) === true
      if (members.length > 1 || selfImport) cycles.push(members.sort().join(' <-> '))
    }
    return lowest
  }
  for (const path of edges.keys()) if (!index.has(path)) visit(path)
  return cycles
}
