/** The admin routes that are really registered, which the description must agree with. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { createApp } from '#server/run/app.ts'
import type { Areas } from '#server/run/open.ts'
import type { AdminRoute } from '../security/admin-api/admin-routes.ts'
import { variantsOf, writableIn } from '../security/admin-api/valid-bodies.ts'

/** A route without its schemas: of the body the names of what may be written, for each form that it may have. */
export type RouteFacts = Omit<AdminRoute, 'body' | 'security'> & {
  readonly fields: readonly (readonly string[])[] | undefined
}

const fieldsOf = (body: JsonSchema | undefined): RouteFacts['fields'] =>
  body && variantsOf(body).map((variant) => Object.keys(writableIn(variant)).sort())

export const factsOf = ({ body, security: _, ...route }: AdminRoute): RouteFacts => ({
  ...route,
  fields: fieldsOf(body),
})

/** Routes are registered when the app gets ready: a hook that is added before sees them all. */
export const registeredRoutes = async (areas: Areas): Promise<readonly RouteFacts[]> => {
  const routes: RouteFacts[] = []
  const app = createApp(areas)
  app.addHook('onRoute', ({ method, url, config, schema, bodyLimit }) => {
    if (!url.startsWith('/admin/')) return
    const described = schema as { operationId?: string; querystring?: JsonSchema } | undefined
    for (const one of [method].flat())
      routes.push({
        method: one,
        path: url.replace(/:(\w+)/g, '{$1}'),
        operationId: described?.operationId ?? '',
        permission: config?.permission,
        ofServer: config?.ofServer === true,
        resourceType: config?.resourceType,
        kind: config?.kind,
        hasReply: schema?.response !== undefined,
        fields: fieldsOf(config?.body),
        bodyLimit,
        query: Object.keys(described?.querystring?.properties ?? {}),
      })
  })
  await app.ready()
  await app.close()
  return routes
}
