/**
 * The admin routes as the served API description tells them, so that a new one is tested without a line here.
 * That the description leaves none out is tested in test/openapi/document.test.ts.
 */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { RoutePermission } from '#server/http/caller.ts'
import { type Operation, operationsIn, readDocument } from '../../openapi/document.ts'
import type { TestServer } from '../../support/server.ts'

export interface AdminRoute {
  readonly method: string
  /** `/admin/realms/{realm}/users` */
  readonly path: string
  readonly operationId: string
  /** Names of the security schemes that a request must satisfy. */
  readonly security: readonly string[]
  readonly permission: RoutePermission | undefined
  readonly ofServer: boolean
  readonly resourceType: string | undefined
  /** The kind whose documents it serves, of a declared one. */
  readonly kind: string | undefined
  readonly hasReply: boolean
  /** What it takes as body. */
  readonly body: JsonSchema | undefined
  /** In bytes, where it differs from the common limit. */
  readonly bodyLimit: number | undefined
  /** Names of the query parameters. */
  readonly query: readonly string[]
}

/** What takes the XSRF token beside the session. */
export const isWrite = ({ security }: AdminRoute): boolean => security.includes('xsrf')

const routeOf = (operation: Operation): AdminRoute => ({
  method: operation.method,
  path: operation.path,
  operationId: operation.operationId,
  security: operation.security.flatMap((schemes) => Object.keys(schemes)),
  permission: operation['x-permission'],
  ofServer: operation['x-of-server'] === true,
  resourceType: operation['x-resource-type'],
  kind: operation['x-kind'],
  hasReply: Object.keys(operation.responses).some((status) => status.startsWith('2')),
  body: Object.values(operation.requestBody?.content ?? {})[0]?.schema,
  bodyLimit: operation['x-body-limit'],
  query: (operation.parameters ?? []).flatMap((one) => (one.in === 'query' ? [one.name] : [])),
})

export const adminRoutes = async (server: TestServer): Promise<readonly AdminRoute[]> =>
  operationsIn(await readDocument(server))
    .filter(({ path }) => path.startsWith('/admin/'))
    .map(routeOf)
    // What answers GET answers HEAD too (RFC 9110 §9.1), which no description spells out.
    .flatMap((route) => (route.method === 'GET' ? [route, { ...route, method: 'HEAD' }] : [route]))

/** A name that nothing has. */
export const nobody = 'nobody-has-this-name'

/** The address of a route: values by parameter name, and one that nothing has for the others. */
export const addressOf = (
  { path }: AdminRoute,
  values: Readonly<Record<string, string>>,
  otherwise = nobody,
): string => path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? otherwise)

export const parametersOf = ({ path }: AdminRoute): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')

export const nameOf = ({ method, path }: AdminRoute): string => `${method} ${path}`

/** Whether `{}` is a body that the route takes. */
export const takesNothing = ({ method, body }: AdminRoute): boolean =>
  method === 'POST' &&
  body !== undefined &&
  body.type === 'object' &&
  (body.required ?? []).length === 0
