/**
 * The access that an RPT request asks for: what its ticket names, what its `permission` parameters name, and what the RPT to
 * upgrade already had; everything where it names nothing. The answers become the permissions of the RPT.
 */

import type { Question, Resource, ResourceAnswer } from '#server/authz/evaluation/evaluate.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import type { Ticket } from '#server/authz/tickets.ts'
import { createPace } from '#server/platform/pace.ts'
import { allowedScopes, parseScope } from '#server/tokens/access/scopes.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { TokenClient } from '#server/tokens/client.ts'
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
        ? server.uris().at(text)
        : server.uris().exact(text)
      : server.find(text)
  if (!found) throw invalidResource('the resource server has no such resource')
  return found
}

/** What a `permission` parameter means: a resource and its scopes, or scopes alone. */
interface Named {
  readonly resource: string
  /** Each once; undefined where all are meant. */
  readonly scopes: readonly string[] | undefined
}

/** `resource`, `resource#scope,scope` or `#scope`. */
const namedIn = (server: ResourceServer, text: string): Named => {
  const cut = text.lastIndexOf('#')
  if (cut === -1) return { resource: text, scopes: undefined }
  const given = new Set(text.slice(cut + 1).split(','))
  given.delete('')
  const scopes = [...given]
  if (scopes.some((scope) => !server.scopes.has(scope)))
    throw invalidScope('the resource server has no such scope')
  const resource = text.slice(0, cut)
  if (resource === '' && scopes.length === 0)
    throw invalidRequest('permission names no resource and no scope')
  return { resource, scopes: scopes.length === 0 ? undefined : scopes }
}

/** Each meaning once, in however many ways the form writes it. */
const allNamedIn = (server: ResourceServer, form: Parameters): readonly Named[] => {
  const named = form.all('permission').map((text) => namedIn(server, text))
  const meaning = ({ resource, scopes }: Named) => JSON.stringify([resource, scopes?.toSorted()])
  return [...new Map(named.map((one) => [meaning(one), one])).values()]
}

/** The resources that have all of these scopes; the question about scopes alone where none has. */
function* questionsAbout(server: ResourceServer, scopes: readonly string[]): Iterable<Question> {
  const [first = '', ...others] = scopes
  let isAlone = true
  for (const resource of server.withScope(first)) {
    const { scopes: had } = resource.doc
    if (!others.every((scope) => had.includes(scope))) continue
    isAlone = false
    yield { resource, scopes }
  }
  if (isAlone) yield { scopes }
}

const questionsOf = (
  server: ResourceServer,
  { resource: text, scopes }: Named,
  form: Parameters,
): Iterable<Question> => {
  if (text === '' && scopes) return questionsAbout(server, scopes)
  const resource = findResource(server, text, form)
  if (scopes?.some((scope) => !resource.doc.scopes.includes(scope)))
    throw invalidScope('the resource does not have this scope')
  return [{ resource, scopes }]
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

/**
 * Each value of `scope` is a scope of a resource of the ticket (UMA 2.0 Grant §3.3.6). OAuth scopes of the client stay without
 * effect: libraries send `openid` with every request.
 */
export const refuseStrangeScopes = (
  server: ResourceServer,
  form: Parameters,
  { permissions }: Ticket,
  client: TokenClient,
): void => {
  const known = new Set([
    ...allowedScopes(client),
    ...permissions.flatMap(({ resourceId }) => server.find(resourceId)?.doc.scopes ?? []),
  ])
  const strange = parseScope(form.get('scope')).find((scope) => !known.has(scope))
  if (strange !== undefined)
    throw invalidScope(`no resource of the ticket has the scope ${strange}`)
}

/** Scopes that the client asks for beyond those of its ticket (UMA 2.0 Grant §3.3.4). */
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
  /** One for a resource. */
  readonly questions: Iterable<Question>
  /** Nothing was named: the party learns what it has, and is not refused for what it has not. */
  readonly isEverything: boolean
}

/**
 * One question for a resource, with each scope once. A form can name the scopes of all resources some hundred times, and each
 * question takes memory (CWE-770).
 */
const createQuestions = () => {
  const scopesOf = new Map<Resource | undefined, Set<string> | 'all'>()
  return {
    add: ({ resource, scopes }: Question): void => {
      const before = scopesOf.get(resource) ?? new Set<string>()
      if (before !== 'all') for (const scope of scopes ?? []) before.add(scope)
      scopesOf.set(resource, scopes === undefined ? 'all' : before)
    },
    *[Symbol.iterator](): Iterator<Question> {
      for (const [resource, scopes] of scopesOf)
        yield scopes === 'all' ? { resource } : { resource, scopes: [...scopes] }
    },
  }
}

export const askedFor = async (
  server: ResourceServer,
  form: Parameters,
  ticket: Ticket | undefined,
  upgraded: Claims | undefined,
): Promise<Asked> => {
  const isEverything = !ticket && form.all('permission').length === 0
  if (isEverything)
    return { questions: server.resources.map((resource) => ({ resource })), isEverything }
  const questions = createQuestions()
  const pace = createPace()
  for (const named of allNamedIn(server, form))
    for (const question of questionsOf(server, named, form)) {
      questions.add(question)
      // A scope may be one of a hundred thousand resources: other requests get their turn in between.
      if (pace.over()) await pace.rest()
    }
  for (const { resourceId, scopes } of ticket?.permissions ?? [])
    stillThere(server, resourceId, withMore(server, resourceId, scopes, form)).forEach(
      questions.add,
    )
  for (const { rsid = '', scopes = [] } of permissionsIn(upgraded ?? {}))
    stillThere(server, rsid, scopes).forEach(questions.add)
  return { questions, isEverything }
}

/** The resource with its granted scopes; undefined where none is. */
export const grantedIn = (
  { resource, status, scopes }: ResourceAnswer,
  withNames: boolean,
): GrantedPermission | undefined => {
  if (status === 'DENY') return undefined
  const granted = scopes.flatMap((one) =>
    one.status === 'PERMIT' && one.scope !== null ? [one.scope] : [],
  )
  return {
    ...(resource ? { rsid: resource.id } : {}),
    ...(resource && withNames ? { rsname: resource.doc.name } : {}),
    ...(granted.length > 0 ? { scopes: granted } : {}),
  }
}
