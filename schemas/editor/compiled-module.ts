/**
 * Validators as the source of a module, for build.ts: what a program checks at every start is compiled when it is built.
 * Made by the same factory as those that are compiled when they are first used.
 */

import standalone from 'ajv/dist/standalone/index.js'
import { createAjv } from '../ajv.ts'
import type { JsonSchema } from '../json-schema.ts'

/** The module exports `compiled`, the validators by the names that are given; they must be names of variables. */
export const compiledModule = (
  schemas: Readonly<Record<string, JsonSchema>>,
  options: { readonly fillDefaults: boolean },
): string => {
  const ajv = createAjv({ ...options, keepsCode: true })
  const names = Object.keys(schemas)
  for (const name of names) ajv.addSchema(schemas[name] ?? {}, name)
  const code = standalone.default(ajv, Object.fromEntries(names.map((name) => [name, name])))
  return [
    "import { allFormats as formats } from '#schemas/ajv.ts'",
    code,
    `export const compiled = { ${names.join(', ')} }`,
  ].join('\n')
}
