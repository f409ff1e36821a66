/**
 * The decision about an access, explained: for every resource and scope the permissions about it and the answer of every
 * policy with its reason. Nothing is written, and no token is made.
 */

import { type JsonSchema, jsonSchemaOf } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User, type UserDoc } from '#schemas/kinds/users/user.ts'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import { changesetRequest } from '#schemas/wire/wire.ts'
import type { Question, ResourceAnswer } from '#server/authz/evaluation/evaluate.ts'
import type { PolicyAnswer } from '#server/authz/evaluation/policies.ts'
import { decideBy } from '#server/authz/evaluation/strategy.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import type { RequestingParty } from '#server/authz/subjects.ts'
import { isUuid } from '#server/platform/ids.ts'
import type { Changesets } from '#server/realm/changesets/changesets.ts'
import { findIn } from '#server/realm/read/find.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { changedIn, overlaid } from '#server/storage/documents/overlay.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { NamedRoles } from '#server/tokens/access/roles.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { Users } from '#server/users/users.ts'
import { type Action, type ActionContext, asChecked, bodyOf } from '../action.ts'
import { barOf, barredBy } from './barred.ts'

export interface EvaluateParts {
  readonly changesets: Pick<Changesets, 'preview'>
  readonly authz: Pick<AuthzArea, 'resourceServers' | 'factsOf'>
  readonly users: Pick<Users, 'find'>
}

/** More results than a person reads; a client with more resources is asked about some of them. */
const mostResults = 1000
/** The most answers of policies and permissions in an explanation; a policy in two aggregates counts in both. */
const mostAnswers = 20_000

interface AskedResource {
  readonly _id?: string
  readonly name?: string
  readonly scopes?: readonly (string | { readonly name: string })[]
}

interface EvaluateBody {
  readonly userId?: string
  readonly clientId?: string
  readonly roleIds?: readonly string[]
  readonly resources?: readonly (string | AskedResource)[]
  readonly context?: { readonly time?: string }
  readonly changeset?: unknown
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: 255 }
const status: JsonSchema = { type: 'string', enum: ['PERMIT', 'DENY'] }
const why: JsonSchema = { type: 'string', description: 'What decided.' }

const scopeList: JsonSchema = {
  type: 'array',
  maxItems: 1000,
  items: { anyOf: [text, bodyOf({ name: text })] },
  description: 'Scopes to ask about; all of the resource where they are left out.',
}

const askedResource: JsonSchema = {
  anyOf: [
    text,
    bodyOf({ _id: { type: 'string', format: 'uuid' }, name: text, scopes: scopeList }, []),
  ],
}

const evaluateFields: Readonly<Record<string, JsonSchema>> = {
  userId: { ...text, description: 'The user who asks: id or username.' },
  clientId: {
    ...text,
    description: 'The client that asks; it narrows roles to those that its tokens carry.',
  },
  roleIds: {
    type: 'array',
    maxItems: 1000,
    items: text,
    description: 'Roles on trial: ids, names, or client/role.',
  },
  resources: {
    type: 'array',
    maxItems: mostResults,
    items: askedResource,
    description: 'Resources by name or id; all of the client where they are left out.',
  },
  context: bodyOf(
    {
      time: {
        type: 'string',
        format: 'date-time',
        description: 'The moment, where it is not now.',
      },
      attributes: {
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 4000 },
        description: 'Accepted for clients that send them; no policy type reads them.',
      },
    },
    [],
  ),
  changeset: {
    ...jsonSchemaOf(changesetRequest),
    description: 'Changes to evaluate with, as if they were applied; nothing is written.',
  },
}

/** An aggregate holds answers of the same shape. */
const policyAnswer: JsonSchema = {
  type: 'object',
  properties: { name: text, type: text, logic: text, status, why },
  required: ['name', 'type', 'logic', 'status', 'why'],
  additionalProperties: true,
}

const permissionAnswer = bodyOf({
  name: text,
  type: text,
  decisionStrategy: text,
  status,
  policies: { type: 'array', items: policyAnswer },
})

const evaluateReply: JsonSchema = {
  title: 'authz-evaluation',
  ...bodyOf({
    status,
    results: {
      type: 'array',
      items: bodyOf({
        resource: bodyOf({ _id: { type: ['string', 'null'] }, name: { type: ['string', 'null'] } }),
        status,
        allowedScopes: { type: 'array', items: text },
        scopes: {
          type: 'array',
          items: bodyOf({
            name: { type: ['string', 'null'], description: 'Null of a resource without scopes.' },
            status,
            why,
            permissions: { type: 'array', items: permissionAnswer },
          }),
        },
      }),
    },
  }),
}

const missing = (field: string, message: string): FieldError => ({
  field,
  code: 'missing-reference',
  message,
})

/** Ids, names of realm roles, and `client/role`. */
const rolesIn = async (view: RealmView, ids: readonly string[]): Promise<NamedRoles> => {
  const realm: string[] = []
  const clients: string[] = []
  const errors: FieldError[] = []
  for (const [index, id] of ids.entries()) {
    const find = (kind: string) => (isUuid(id) ? view.byId(kind, id) : view.get(kind, id))
    const role = await find(Role.kind)
    const clientRole = role ? undefined : await find(ClientRole.kind)
    if (role) realm.push(role.key)
    else if (clientRole) clients.push(clientRole.key)
    else errors.push(missing(`/roleIds/${index}`, `there is no role "${id}"`))
  }
  if (errors.length > 0) throw invalid(errors)
  return { realm, clients }
}

const questionsIn = (
  server: ResourceServer,
  asked: EvaluateBody['resources'],
): readonly Question[] => {
  if (asked === undefined) {
    if (server.resources.length > mostResults)
      throw invalid([
        missing('/resources', `the client has more than ${mostResults} resources: name some`),
      ])
    return server.resources.map((resource) => ({ resource }))
  }
  const errors: FieldError[] = []
  const questions = asked.map((one, index): Question => {
    const { _id, name, scopes } = typeof one === 'string' ? { name: one } : (one as AskedResource)
    const field = `/resources/${index}`
    const idOrName = _id ?? name
    const resource = idOrName === undefined ? undefined : server.find(idOrName)
    if (idOrName !== undefined && !resource)
      errors.push(missing(field, `there is no authz-resource "${idOrName}"`))
    const names = scopes?.map((scope) => (typeof scope === 'string' ? scope : scope.name))
    for (const scope of names ?? [])
      if (!server.scopes.has(scope))
        errors.push(missing(`${field}/scopes`, `there is no authz-scope "${scope}"`))
      // As the token endpoint refuses it: a permission for the whole resource would permit it here.
      else if (resource && !resource.doc.scopes.includes(scope))
        errors.push(
          missing(
            `${field}/scopes`,
            `authz-resource "${resource.doc.name}" does not have the scope "${scope}"`,
          ),
        )
    if (idOrName === undefined && !names?.length)
      errors.push(missing(field, 'name a resource, scopes, or both'))
    return { resource, scopes: names }
  })
  if (errors.length > 0) throw invalid(errors)
  return questions
}

/**
 * Throws before anything is written out, and before the next resource is asked about: the explanation of a few dozen aggregates
 * that share policies can have billions of answers, and so can one of few permissions for many scopes (CWE-770).
 */
const createLengthCheck = () => {
  const lengths = new Map<PolicyAnswer, number>()
  const lengthOf = (answer: PolicyAnswer): number => {
    const length = lengths.get(answer) ?? 1 + totalOf(answer.policies ?? [])
    lengths.set(answer, length)
    return length
  }
  const totalOf = (policies: readonly PolicyAnswer[]): number =>
    policies.reduce((total, one) => total + lengthOf(one), 0)
  let length = 0
  return ({ scopes }: ResourceAnswer): void => {
    for (const { permissions } of scopes) {
      const told = permissions()
      length += Math.max(1, told.length) + totalOf(told.flatMap(({ policies }) => policies))
      if (length <= mostAnswers) continue
      const message = `the explanation has more than ${mostAnswers} answers of permissions and policies: name fewer resources or scopes`
      throw invalid([{ field: '/resources', code: 'too-many', message }])
    }
  }
}

const shown = ({ resource, status: told, scopes }: ResourceAnswer) => ({
  resource: { _id: resource?.id ?? null, name: resource?.doc.name ?? null },
  status: told,
  allowedScopes: scopes.flatMap((one) =>
    one.status === 'PERMIT' && one.scope !== null ? [one.scope] : [],
  ),
  scopes: scopes.map(({ scope, permissions, ...rest }) => ({
    name: scope,
    ...rest,
    permissions: permissions(),
  })),
})

/** Of a managed user that the changeset changes. */
const changedMemberships = (view: RealmView, { username }: UserRow) => {
  const document = changedIn(view, User.kind, username)
  if (!document) return undefined
  const { roles, clientRoles, groups } = contentOf<UserDoc>(document)
  return { realm: roles, clients: clientRoles, groups }
}

const partyIn = async (
  { users }: EvaluateParts,
  { realm, caller }: Pick<ActionContext, 'realm' | 'caller'>,
  view: RealmView,
  { userId, clientId, roleIds = [], context }: EvaluateBody,
): Promise<RequestingParty> => {
  if (userId !== undefined && !caller.permissions.has('view-users'))
    throw new Problem('forbidden', 'asking about a user also needs the permission view-users')
  const user = userId === undefined ? undefined : await users.find(realm, userId)
  if (userId !== undefined && !user)
    throw invalid([missing('/userId', `there is no user "${userId}"`)])
  const client = clientId === undefined ? undefined : await findIn(view, Client, clientId)
  return {
    user,
    memberships: user && changedMemberships(view, user),
    client: client && clientOf(client),
    roles: await rolesIn(view, roleIds),
    at: context?.time === undefined ? undefined : Date.parse(context.time),
  }
}

/** The realm as it is, or as the changeset of the request would leave it. */
const viewFor = async (
  { changesets }: EvaluateParts,
  { realm, caller, view }: ActionContext,
  { changeset }: EvaluateBody,
): Promise<RealmView> =>
  changeset === undefined
    ? view
    : overlaid(view, await changesets.preview({ realm, caller, request: changeset }))

export const evaluateAuthz = (parts: EvaluateParts): Action => ({
  operationId: 'evaluate-authz',
  method: 'POST',
  path: '/clients/:clientId/authz/evaluate',
  permission: 'manage-authorization',
  resourceType: Client.resourceType,
  events: [],
  planning: true,
  summary: 'Decides an access and explains the decision',
  body: bodyOf(evaluateFields, []),
  reply: { status: 200, schema: evaluateReply },
  handle: async (context) => {
    const body = asChecked<EvaluateBody>(context.body)
    const view = await viewFor(parts, context, body)
    const client = clientOf(await findIn(view, Client, context.params['clientId'] ?? ''))
    const { resourceServers, factsOf } = parts.authz
    const server = await resourceServers(view, client)
    const questions = questionsIn(server, body.resources)
    const party = await partyIn(parts, context, view, body)
    const evaluate = server.evaluator(await factsOf({ view, server }, party))
    const bar = barOf(view, client, party)
    const checkLength = createLengthCheck()
    const decided = questions.map((question) => {
      const answer = evaluate(question)
      checkLength(answer)
      return answer
    })
    const answers = bar === undefined ? decided : decided.map(barredBy(bar))
    return { status: decideBy('AFFIRMATIVE', answers), results: answers.map(shown) }
  },
})
