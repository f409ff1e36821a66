/**
 * Which methods a path takes, whatever the method of the request: what the router itself does not tell and
 * a 405 must (RFC 9110 §15.5.6). It is asked only after routing failed, so it may be simple.
 */

import type { FastifyInstance } from 'fastify'

const fits = (pattern: readonly string[], path: readonly string[]): boolean => {
  const wild = pattern.at(-1) === '*'
  if (wild ? path.length < pattern.length : path.length !== pattern.length) return false
  return pattern.every((segment, index) => {
    const given = path[index] ?? ''
    if (segment === '*') return true
    return segment.includes(':') ? given !== '' : segment === given
  })
}

/** Follows every route that is registered from now on. */
export const followRoutes = (app: FastifyInstance): ((path: string) => string[]) => {
  const routes = new Map<string, { segments: string[]; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { segments: url.split('/'), methods: new Set<string>() }
    // OPTIONS is there for the preflights of browsers, not for callers to choose.
    for (const one of [method].flat()) if (one !== 'OPTIONS') route.methods.add(one)
    routes.set(url, route)
  })
  return (path) => {
    const segments = path.split('/')
    const found = new Set<string>()
    for (const route of routes.values())
      if (fits(route.segments, segments)) for (const method of route.methods) found.add(method)
    return [...found].sort()
  }
}
