/**
 * `npm run routes`: every route with its method, path, permission, audit events and the place of its code. A whole
 * server is put together on an empty database and taken down again, so that the list is what is really registered.
 */

import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RouteOptions } from 'fastify'
import { loadConfig } from '#server/config/index.ts'
import { eventsOf } from '#server/http/caller.ts'
import { systemClock } from '#server/platform/clock.ts'
import { createLogger } from '#server/platform/logger.ts'

export interface PrintedRoute {
  readonly method: string
  readonly path: string
  readonly permission: string
  readonly events: string
  readonly source: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Source positions of functions, from the debugger. */
const createLocator = () => {
  const session = new Session()
  const files = new Map<string, string>()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params }) => files.set(params.scriptId, params.url))
  session.post('Debugger.enable')

  /** The debugger is handed a function by way of a global that is gone right after. */
  const inspect = (subject: unknown): string => {
    const name = 'iamctlInspected'
    Reflect.set(globalThis, name, subject)
    let place = ''
    session.post('Runtime.evaluate', { expression: `globalThis.${name}` }, (_error, { result }) =>
      session.post('Runtime.getProperties', { objectId: result.objectId ?? '' }, (_, found) => {
        const internal = found.internalProperties ?? []
        const at = internal.find((one) => one.name === '[[FunctionLocation]]')?.value?.value
        const url = files.get(at?.scriptId ?? '')
        if (url) place = `${relative(root, fileURLToPath(url))}:${at.lineNumber + 1}`
      }),
    )
    Reflect.deleteProperty(globalThis, name)
    return place
  }
  return { inspect, close: () => session.disconnect() }
}

/** The file that declares each kind. */
const declarations = (): ReadonlyMap<string, string> => {
  const folder = join(root, 'schemas', 'kinds')
  return new Map(
    globSync('**/*.ts', { cwd: folder }).flatMap((file) => {
      const text = readFileSync(join(folder, file), 'utf8')
      const names = [...text.matchAll(/^ {2}kind: '([a-z-]+)',$/gm)].map(([, name = '']) => name)
      return names.map((name) => [name, relative(root, join(folder, file))] as const)
    }),
  )
}

/** The permission that an admin route needs, or the callers of another one. */
const admittedTo = ({ config }: RouteOptions): string =>
  config?.permission ?? (config?.callers?.join(',') || 'anonymous')

export const listRoutes = async (): Promise<PrintedRoute[]> => {
  // Above this floor, and needed by nothing but this script.
  const { createApp } = await import('#server/run/app.ts')
  const { openServer } = await import('#server/run/open.ts')
  const data = mkdtempSync(join(tmpdir(), 'iamctl-routes-'))
  const config = loadConfig({ flags: { data } })
  const locator = createLocator()
  try {
    const logger = createLogger({ level: 'silent' })
    const areas = await openServer({ config, logger, clock: systemClock })
    const app = createApp(areas)
    const handlers = new Map(areas.admin.actions.map((one) => [one.operationId, one.handle]))
    const files = declarations()
    const found: RouteOptions[] = []

    const sourceOf = ({ config: own, schema, handler }: RouteOptions): string => {
      const declared = files.get(own?.kind ?? '')
      if (declared !== undefined) return declared
      const id = schema && 'operationId' in schema ? String(schema.operationId) : ''
      return locator.inspect(handlers.get(id) ?? handler)
    }
    app.addHook('onRoute', (route) => {
      if (String(route.method) !== 'HEAD') found.push(route)
    })
    await app.ready()
    // The hooks of inner scopes have added to the routes by now.
    const printed = found.map(
      (route): PrintedRoute => ({
        method: String(route.method),
        path: route.url,
        permission: admittedTo(route),
        events: eventsOf(String(route.method), route.config).join(',') || '-',
        source: sourceOf(route),
      }),
    )
    await app.close()
    await areas.close()
    return printed.sort((a, b) => (a.path === b.path ? 0 : a.path < b.path ? -1 : 1))
  } finally {
    locator.close()
    rmSync(data, { recursive: true, force: true })
  }
}

/** Columns as wide as what they hold. */
const tableOf = (routes: readonly PrintedRoute[]): string => {
  const columns = ['method', 'path', 'permission', 'events', 'source'] as const
  const widths = columns.map((name) => Math.max(...routes.map((route) => route[name].length)))
  return routes
    .map((route) => columns.map((name, i) => route[name].padEnd(widths[i] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

if (import.meta.main) process.stdout.write(`${tableOf(await listRoutes())}\n`)
