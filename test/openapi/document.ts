/** The description as a client reads it: fetched, resolved, and flattened to operations. */

import { dereference } from '@readme/openapi-parser'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { TestServer } from '../support/server.ts'

interface Media {
  readonly schema: JsonSchema
}

export interface DocumentedReply {
  readonly description: string
  readonly content?: Readonly<Record<string, Media>>
}

export interface Operation {
  readonly method: string
  /** `/admin/realms/{realm}/users` */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, DocumentedReply>>
  readonly 'x-permission'?: string
  readonly 'x-audit-events'?: readonly string[]
}

type Described = Omit<Operation, 'method' | 'path'>

export interface ApiDocument {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

export const readDocument = async (server: TestServer): Promise<ApiDocument> =>
  (await server.anonymous.send('GET', '/v3/api-docs')).body

/** With every reference replaced by what it names. */
export const operationsIn = async (document: ApiDocument): Promise<Operation[]> => {
  const whole = await dereference(structuredClone(document) as never)
  const { paths } = whole as unknown as ApiDocument
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => ({
      ...described,
      method: method.toUpperCase(),
      path,
    })),
  )
}
