/**
 * The access that an RPT request asks for: what its ticket names, what its `permission` parameters name, and what the RPT to
 * upgrade already had; everything where it names nothing. The answers become the permissions of the RPT.
 */

import type { Question, Resource, ResourceAnswer } from '#server/authz/evaluation/evaluate.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import { resourceAt } from '#server/authz/resource-uris.ts'
import type { Ticket } from '#server/authz/tickets.ts'
import { parseScope } from '#server/tokens/access/scopes.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { invalidRequest, invalidScope, oauthError } from '../errors.ts'
import type { Parameters } from '../parameters.ts'

const invalidResource = oauthError('invalid_resource_id')

/** As clients of Keycloak know it. */
export interface GrantedPermission {
  readonly rsid?: string
  readonly rsname?: string
  readonly scopes?: readonly string[]
}

export const flagIn = (form: Parameters, name: string, fallback: boolean): boolean => {
  const text = form.get(name) ?? String(fallback)
  if (text !== 'true' && text !== 'false') throw invalidRequest(`${name} must be true or false`)
  return text === 'true'
}

/** By id or name, or by its URI where the request says so. */
const findResource = (server: ResourceServer, text: string, form: Parameters): Resource => {
  const found =
    form.get('permission_resource_format') === 'uri'
      ? flagIn(form, 'permission_resource_matching_uri', false)
        ? resourceAt(server.resources, text)
        : server.resources.find(({ doc }) => doc.uris.includes(text))
      : server.find(text)
  if (!found) throw invalidResource('the resource server has no such resource')
  return found
}

/** `resource`, `resource#scope,scope` or `#scope`. */
const questionsOf = (
  server: ResourceServer,
  text: string,
  form: Parameters,
): readonly Question[] => {
  const cut = text.lastIndexOf('#')
  if (cut === -1) return [{ resource: findResource(server, text, form) }]
  const scopes = [...new Set(text.slice(cut + 1).split(','))].filter((scope) => scope !== '')
  if (scopes.some((scope) => !server.scopes.has(scope)))
    throw invalidScope('the resource server has no such scope')
  const name = text.slice(0, cut)
  if (name === '') {
    if (scopes.length === 0) throw invalidRequest('permission names no resource and no scope')
    const having = server.resources.filter(({ doc }) =>
      scopes.every((scope) => doc.scopes.includes(scope)),
    )
    return having.length === 0 ? [{ scopes }] : having.map((resource) => ({ resource, scopes }))
  }
  const resource = findResource(server, name, form)
  if (scopes.some((scope) => !resource.doc.scopes.includes(scope)))
    throw invalidScope('the resource does not have this scope')
  return [scopes.length === 0 ? { resource } : { resource, scopes }]
}

/** A resource that is gone since, or has lost the scope, is not asked about. */
const stillThere = (
  server: ResourceServer,
  resourceId: string,
  scopes: readonly string[],
): readonly Question[] => {
  const resource = server.find(resourceId)
  if (!resource) return []
  const left = scopes.filter((scope) => resource.doc.scopes.includes(scope))
  if (scopes.length > 0 && left.length === 0) return []
  return [scopes.length === 0 ? { resource } : { resource, scopes: left }]
}

/** Scopes that the client asks for beyond those of its ticket (UMA 2.0 Grant §3.3.4); others of `scope` are not meant. */
const withMore = (
  server: ResourceServer,
  resourceId: string,
  scopes: readonly string[],
  form: Parameters,
): readonly string[] => {
  if (scopes.length === 0) return scopes
  const had = server.find(resourceId)?.doc.scopes ?? []
  const more = parseScope(form.get('scope')).filter((scope) => had.includes(scope))
  return [...new Set([...scopes, ...more])]
}

/** The permissions that a token says it has. */
export const permissionsIn = ({ authorization }: Claims): readonly GrantedPermission[] => {
  const { permissions } = (authorization ?? {}) as { permissions?: unknown }
  return Array.isArray(permissions) ? (permissions as GrantedPermission[]) : []
}

export interface Asked {
  readonly questions: readonly Question[]
  /** Nothing was named: the party learns what it has, and is not refused for what it has not. */
  readonly isEverything: boolean
}

/**
 * One question for a resource, with each scope once. A form can name a scope of all resources some thousand times, and each
 * answer takes memory (CWE-770).
 */
const combined = (questions: readonly Question[]): readonly Question[] => {
  const scopesOf = new Map<Resource | undefined, Set<string> | 'all'>()
  for (const { resource, scopes } of questions) {
    const before = scopesOf.get(resource) ?? new Set<string>()
    if (before !== 'all') for (const scope of scopes ?? []) before.add(scope)
    scopesOf.set(resource, scopes === undefined ? 'all' : before)
  }
  return [...scopesOf].map(([resource, scopes]) =>
    scopes === 'all' ? { resource } : { resource, scopes: [...scopes] },
  )
}

export const askedFor = (
  server: ResourceServer,
  form: Parameters,
  ticket: Ticket | undefined,
  upgraded: Claims | undefined,
): Asked => {
  const named = [
    ...[...new Set(form.all('permission'))].flatMap((text) => questionsOf(server, text, form)),
    ...(ticket?.permissions ?? []).flatMap(({ resourceId, scopes }) =>
      stillThere(server, resourceId, withMore(server, resourceId, scopes, form)),
    ),
  ]
  const isEverything = named.length === 0 && !ticket && form.all('permission').length === 0
  const before = permissionsIn(upgraded ?? {}).flatMap(({ rsid = '', scopes = [] }) =>
    stillThere(server, rsid, scopes),
  )
  return {
    questions: isEverything
      ? server.resources.map((resource) => ({ resource }))
      : combined([...named, ...before]),
    isEverything,
  }
}

/** One entry for a resource, with all its granted scopes. */
export const grantedIn = (
  answers: readonly ResourceAnswer[],
  withNames: boolean,
): readonly GrantedPermission[] => {
  const granted = new Map<string, { resource: Resource | undefined; scopes: Set<string> }>()
  for (const { resource, status, scopes } of answers) {
    if (status === 'DENY') continue
    const key = resource?.id ?? ''
    const entry = granted.get(key) ?? { resource, scopes: new Set<string>() }
    granted.set(key, entry)
    for (const one of scopes)
      if (one.status === 'PERMIT' && one.scope !== null) entry.scopes.add(one.scope)
  }
  return [...granted.values()].map(({ resource, scopes }) => ({
    ...(resource ? { rsid: resource.id } : {}),
    ...(resource && withNames ? { rsname: resource.doc.name } : {}),
    ...(scopes.size > 0 ? { scopes: [...scopes] } : {}),
  }))
}
