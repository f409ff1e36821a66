/** The JSON Schemas for editors: of a whole realm file, of `iamctl.yaml`, and of an entry of every kind. */

import { estateSchema } from './estate.ts'
import type { JsonSchema } from './json-schema.ts'
import type { Kind } from './kind.ts'
import { kinds } from './registry.ts'
import { realmView, yamlView } from './views.ts'

export const kindSchema = (kind: Kind): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: kind.kind,
  ...yamlView(kind, kinds),
  ...(kind.shape === 'tree' ? { $defs: { [kind.kind]: yamlView(kind, kinds) } } : {}),
})

export const realmSchema = (): JsonSchema => realmView(kinds)

/** By the name of their files. */
export const editorSchemas = (): ReadonlyMap<string, JsonSchema> =>
  new Map([
    ['realm', realmSchema()],
    ['estate', estateSchema],
    ...kinds.map((kind) => [kind.kind, kindSchema(kind)] as const),
  ])
