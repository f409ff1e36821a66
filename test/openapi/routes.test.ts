/** `npm run routes`, as a developer runs it: from source, in a process of its own. */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { adminRoutes, nameOf } from '../security/admin-api/admin-routes.ts'
import { backends } from '../support/backends.ts'
import { startServer } from '../support/server.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const [backend] = backends

interface Row {
  readonly method: string
  readonly path: string
  readonly permission: string
  readonly events: string
  readonly source: string
}

const run = (): Row[] => {
  const script = join(root, 'server', 'admin', 'print-routes.ts')
  const printed = execFileSync(process.execPath, [script], { encoding: 'utf8' })
  return printed
    .trim()
    .split('\n')
    .map((line) => {
      const [method = '', path = '', permission = '', events = '', source = ''] =
        line.split(/ {2,}/)
      return { method, path, permission, events, source }
    })
}

describe('the list of routes', () => {
  let rows: readonly Row[]
  beforeAll(() => {
    rows = run()
  })

  it('has every admin route with its permission', async () => {
    if (!backend) return
    const server = await startServer(backend)
    const routes = (await adminRoutes(server)).filter(({ method }) => method !== 'HEAD')
    await server.close()
    const printed = rows.map(
      ({ method, path, permission }) =>
        `${method} ${path.replace(/:(\w+)/g, '{$1}')} ${permission}`,
    )
    for (const route of routes) expect(printed).toContain(`${nameOf(route)} ${route.permission}`)
  })

  it('has the routes that need no session too', () => {
    const anonymous = rows.filter(({ permission }) => permission === 'anonymous')
    expect(anonymous.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining([
        'GET /assets/:file',
        'GET /interactive-docs.html',
        'GET /monitoring/health',
        'GET /v3/api-docs',
        'POST /realms/:realm/login',
      ]),
    )
  })

  it('names the callers of routes that are neither admin nor anonymous', () => {
    const callersOf = (wanted: string) =>
      rows.find(({ method, path }) => `${method} ${path}` === wanted)?.permission
    expect(callersOf('POST /realms/:realm/scim/v2/Users')).toBe('scim-token')
    expect(callersOf('GET /realms/:realm/scim/v2')).toBe('scim-token')
    expect(callersOf('GET /realms/:realm/account/credentials')).toBe('session,account-token')
  })

  it('tells the audit events of writes, and of the few reads that leave one', () => {
    const eventsOf = (wanted: string) =>
      rows.find(({ method, path }) => `${method} ${path}` === wanted)?.events
    expect(eventsOf('POST /admin/realms/:realm/roles')).toBe('ADMIN_CREATE')
    expect(eventsOf('DELETE /admin/realms/:realm/flows/:id')).toBe('ADMIN_DELETE')
    expect(eventsOf('PUT /admin/realms/:realm/users/:userId/password')).toBe(
      'ADMIN_UPDATE,RESET_PASSWORD',
    )
    expect(eventsOf('GET /admin/realms/:realm/roles')).toBe('-')
  })

  it('leads to the code: a kind to its file, everything else to the line of its handler', () => {
    for (const { method, path, source } of rows) {
      const [file = '', line] = source.split(':')
      const lines = readFileSync(join(root, file), 'utf8').split('\n')
      const place = `${method} ${path} ${source}`
      if (file.startsWith('schemas/kinds/')) expect(line, place).toBeUndefined()
      else expect(lines[Number(line) - 1], place).toMatch(/=>|function|async|\(/)
    }
    const roles = rows.filter(({ path }) => path === '/admin/realms/:realm/roles')
    expect(new Set(roles.map(({ source }) => source))).toEqual(
      new Set(['schemas/kinds/users/role.ts']),
    )
  })
})
