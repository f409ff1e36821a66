/**
 * Which methods a path takes, whatever the method of the request: what the router itself does not tell and
 * a 405 must (RFC 9110 §15.5.6). It is asked only after routing failed, so it may be simple.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'

/** Answers a method that a path does not take, in the shape of the errors around it. */
export type RefuseMethod = (
  request: FastifyRequest,
  reply: FastifyReply,
  detail: string,
) => FastifyReply

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For scopes that do not answer with problem documents. */
    refuseMethod?: RefuseMethod
    /** For a path that only some realms have: a 405 would reveal it in the others. */
    untold?: true
  }
}

export interface Place {
  /** None where there is no route at all. */
  readonly methods: readonly string[]
  readonly refuseMethod?: RefuseMethod | undefined
}

const fits = (pattern: readonly string[], path: readonly string[]): boolean => {
  const wild = pattern.at(-1) === '*'
  if (wild ? path.length < pattern.length : path.length !== pattern.length) return false
  return pattern.every((segment, index) => {
    const given = path[index] ?? ''
    if (segment === '*') return true
    return segment.includes(':') ? given !== '' : segment === given
  })
}

interface Followed {
  readonly segments: readonly string[]
  readonly methods: Set<string>
  /** The hooks of inner scopes add to them later. */
  readonly options: RouteOptions
}

const fixedSegments = ({ segments }: Followed): number =>
  segments.filter((segment) => segment !== '*' && !segment.includes(':')).length

/** Follows every route that is registered from now on. */
export const followRoutes = (app: FastifyInstance): ((path: string) => Place) => {
  const routes = new Map<string, Followed>()
  app.addHook('onRoute', (options) => {
    const { url, method, config } = options
    if (config?.untold) return
    const route = routes.get(url) ?? { segments: url.split('/'), methods: new Set(), options }
    // OPTIONS is there for the preflights of browsers, not for callers to choose.
    for (const one of [method].flat()) if (one !== 'OPTIONS') route.methods.add(one)
    routes.set(url, route)
  })
  return (path) => {
    const segments = path.split('/')
    const all = [...routes.values()].filter((route) => fits(route.segments, segments))
    // What is at `/keys/rotate` is no key, as the router and readers of the API description have it.
    const fixed = Math.max(...all.map(fixedSegments))
    const found = all.filter((route) => fixedSegments(route) === fixed)
    return {
      methods: [...new Set(found.flatMap(({ methods }) => [...methods]))].sort(),
      refuseMethod: found
        .map(({ options }) => options.config?.refuseMethod)
        .find((refuse) => refuse !== undefined),
    }
  }
}
