/** The admin routes that are really registered, so that a new one is tested without a line here. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Permission } from '#schemas/permissions.ts'
import { createApp } from '#server/app.ts'
import type { Parts } from '#server/parts.ts'

export interface AdminRoute {
  readonly method: string
  readonly url: string
  readonly operationId: unknown
  readonly permission: Permission | undefined
  readonly ofServer: boolean
  readonly resourceType: string | undefined
  readonly hasReply: boolean
  /** What it takes as body. */
  readonly body: JsonSchema | undefined
  /** In bytes, where it is not everybody's. */
  readonly bodyLimit: number | undefined
  /** Names of the query parameters. */
  readonly query: readonly string[]
}

const writes = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

export const isWrite = ({ method }: AdminRoute): boolean => writes.has(method)

/** Routes are registered when the app gets ready: a hook that is added before sees them all. */
export const adminRoutes = async (parts: Parts): Promise<readonly AdminRoute[]> => {
  const routes: AdminRoute[] = []
  const app = createApp(parts)
  app.addHook('onRoute', ({ method, url, config, schema, bodyLimit }) => {
    if (!url.startsWith('/admin')) return
    for (const one of [method].flat())
      routes.push({
        method: one,
        url,
        operationId: schema && 'operationId' in schema ? schema.operationId : undefined,
        permission: config?.permission,
        ofServer: config?.ofServer === true,
        resourceType: config?.resourceType,
        hasReply: schema?.response !== undefined,
        body: config?.body,
        bodyLimit,
        query: Object.keys(
          (schema?.querystring as { properties?: object } | undefined)?.properties ?? {},
        ),
      })
  })
  await app.ready()
  await app.close()
  return routes
}

/** A name that nothing has. */
export const nobody = 'nobody-has-this-name'

/** The address of a route: values by parameter name, and one that nothing has for the others. */
export const addressOf = (
  { url }: AdminRoute,
  values: Readonly<Record<string, string>>,
  otherwise = nobody,
): string => url.replace(/:([A-Za-z]+)/g, (_, name: string) => values[name] ?? otherwise)

export const parametersOf = ({ url }: AdminRoute): string[] =>
  [...url.matchAll(/:([A-Za-z]+)/g)].map(([, name]) => name ?? '')

export const nameOf = ({ method, url }: AdminRoute): string => `${method} ${url}`
