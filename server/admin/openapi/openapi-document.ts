/**
 * Shared parts of the API description: error responses, and schemas with a title, which become components under that
 * name.
 */

import { STATUS_CODES } from 'node:http'
import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import { problems } from '#schemas/problems.ts'
import { largestInteger } from '#server/http/validation.ts'
import { asRequested } from './request-schemas.ts'
import { createSharing, errorName } from './shared-parts.ts'

type Json = Record<string, unknown>

const methods = new Set(['get', 'post', 'put', 'patch', 'delete'])

/** How any request may fail, and what only some may. */
const always = [400, 414, 429, 500, 503]
const signedIn = [401, 403, 404]
const writing = [409, 412, 413, 415]

const titleOf = (status: number): string =>
  Object.values(problems)
    .filter((problem) => problem.status === status)
    .map(({ title }) => title)
    .join('; or: ') ||
  (STATUS_CODES[status] ?? '')

const problemName = (status: number): string => `problem-${status}`

const problemReplies = (): Json =>
  Object.fromEntries(
    [...always, ...signedIn, ...writing].map((status) => [
      problemName(status),
      {
        description: titleOf(status),
        content: {
          'application/problem+json': { schema: { $ref: '#/components/schemas/problem' } },
        },
      },
    ]),
  )

/** What every request may exceed, in the shape of the other errors of the operation. */
const withLimits = ({ requestBody }: Json, responses: Json): Json => {
  const shape = responses['400'] ?? responses['404']
  if (!isObject(shape) || !isObject(shape['content'])) return responses
  const statuses = requestBody === undefined ? [414] : [413, 414, 415]
  const limits = statuses.map((status) => [
    String(status),
    { ...structuredClone(shape), description: titleOf(status) },
  ])
  return { ...Object.fromEntries(limits), ...responses }
}

/** Pages tell their failures themselves; what answers JSON has problem documents for those it does not name. */
const withFailures = (method: string, operation: Json): Json => {
  const { responses, 'x-permission': permission } = operation
  if (!isObject(responses)) return operation
  if (permission === undefined) return { ...operation, responses: withLimits(operation, responses) }
  const statuses = [...always, ...signedIn, ...(method === 'get' ? [] : writing)].sort()
  const failures = statuses.map((status) => [
    String(status),
    { $ref: `#/components/responses/${problemName(status)}` },
  ])
  return { ...operation, responses: { ...Object.fromEntries(failures), ...responses } }
}

/** A POST without a body is one of an empty object, where that is a valid body. */
const withOptionalBody = (method: string, operation: Json): Json => {
  const { requestBody } = operation
  if (method !== 'post' || !isObject(requestBody)) return operation
  const [media] = Object.values(requestBody['content'] as Record<string, { schema: JsonSchema }>)
  const { type, required = [], oneOf, minProperties } = media?.schema ?? {}
  const isOptional =
    type === 'object' && required.length === 0 && !oneOf && minProperties === undefined
  return isOptional ? { ...operation, requestBody: { ...requestBody, required: false } } : operation
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: JsonSchema
}

const bounded = (parameter: Parameter): Parameter =>
  parameter.schema.type === 'integer'
    ? { ...parameter, schema: { maximum: largestInteger, ...parameter.schema } }
    : parameter

/** As a reader fills them in: the path from left to right, then the query, then headers. */
const inOrder = (operation: Json): Json => {
  const parameters = asRequested(operation['parameters']) as readonly Parameter[] | undefined
  if (!parameters) return operation
  const rank = ({ in: place }: Parameter): number => ['path', 'query', 'header'].indexOf(place)
  return {
    ...operation,
    parameters: parameters.map(bounded).toSorted((a, b) => rank(a) - rank(b)),
  }
}

/**
 * Moves schemas with a title to the components; the first of a name stays, and another one keeps its place. Schemas without a
 * title become references to a component that is the same.
 */
const createHoist = (components: Json) => {
  const titles = new Map<string, string>()
  const hoist = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(hoist)
    if (!isObject(value)) return value
    const inner = Object.fromEntries(
      Object.entries(value).flatMap(([key, one]) =>
        key === 'x-described' ? [] : [[key, hoist(one)]],
      ),
    )
    const { title, ...schema } = inner
    if (!isObject(schema['properties'])) return inner
    const text = JSON.stringify(schema)
    if (typeof title === 'string' && components[title] === undefined) {
      components[title] = schema
      titles.set(text, title)
    }
    const same = titles.get(text)
    return same === undefined ? inner : { $ref: `#/components/schemas/${same}` }
  }
  return hoist
}

const byName = (values: Json): Json =>
  Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)))

export const complete = (made: object, problem: JsonSchema): Json => {
  // Drops undefined members.
  const document: Json = JSON.parse(JSON.stringify(made))
  const schemas: Json = {}
  const hoist = createHoist(schemas)
  hoist(problem)
  const parameters: Json = {}
  const responses = problemReplies()
  const shareParameter = createSharing('parameters', parameters)
  const shareResponse = createSharing('responses', responses)
  const shared = (operation: Json): Json => ({
    ...operation,
    ...(Array.isArray(operation['parameters'])
      ? {
          parameters: operation['parameters'].map((one: Parameter) =>
            one.in === 'query' ? one : shareParameter(one.name, one),
          ),
        }
      : {}),
    responses: Object.fromEntries(
      Object.entries(operation['responses'] as Json).map(([status, response]) => {
        const name = errorName(status, response)
        return [status, name === undefined ? response : shareResponse(name, response)]
      }),
    ),
  })
  const paths: Json = {}
  const tags = new Set<string>()
  for (const [path, item] of Object.entries(document['paths'] as Record<string, Json>)) {
    const operations: Json = {}
    for (const [method, operation] of Object.entries(item)) {
      if (!methods.has(method)) continue
      const told = operation as Json
      for (const tag of told['tags'] as string[]) tags.add(tag)
      const asked = 'requestBody' in told ? { requestBody: asRequested(told['requestBody']) } : {}
      const whole = withOptionalBody(method, { ...inOrder(told), ...asked })
      operations[method] = shared(withFailures(method, hoist(whole) as Json))
    }
    paths[path] = operations
  }
  const components = document['components'] as Json
  return {
    ...document,
    tags: [...tags].sort().map((name) => ({ name })),
    paths: byName(paths),
    components: {
      ...components,
      schemas: byName(schemas),
      parameters: byName(parameters),
      responses: byName(responses),
    },
  }
}
