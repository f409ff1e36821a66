/** What the build compiles finds what is found by validators that are compiled at first use. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { sectionSchemas } from '#cli/validate/schema.ts'
import { type Compiled, createAjv, type ValidateFunction } from '#schemas/ajv.ts'
import { compiledModule } from '#schemas/editor/compiled-module.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { kinds } from '#schemas/registry.ts'
import { realmView } from '#schemas/views.ts'
import { configSchemas } from '#server/config/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'iamctl-compiled-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** As build.ts bundles it. */
const load = async (name: string, contents: string): Promise<Compiled> => {
  const outfile = join(folder, `${name}.mjs`)
  const stdin = { contents, resolveDir: new URL('../..', import.meta.url).pathname }
  buildSync({ stdin, outfile, bundle: true, format: 'esm', platform: 'node', logLevel: 'error' })
  const module: { compiled: Compiled } = await import(pathToFileURL(outfile).href)
  return module.compiled
}

/** Values that miss a schema in one way each, down to the fields of its fields. */
const wrongValues = (schema: JsonSchema, depth = 0): unknown[] => {
  const plain = [null, 0, -1.5, '', 'ü'.repeat(300), true, [], [1, 1], {}, { strange: 1 }]
  if (depth === 2) return plain
  const items = schema.items ? wrongValues(schema.items, depth + 1).map((item) => [item]) : []
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
    wrongValues(inner, depth + 1).map((value) => ({ [name]: value })),
  )
  const tags = (schema.oneOf ?? []).flatMap((variant) => wrongValues(variant, depth + 1))
  return [...plain, ...items, ...fields, ...tags]
}

/** What is said of each value, and what becomes of it. */
const findings = (validate: ValidateFunction | undefined, values: readonly unknown[]): string =>
  JSON.stringify(
    values.map((value) => {
      const copy = structuredClone(value)
      return { accepted: validate?.(copy), errors: validate?.errors, copy }
    }),
  )

describe.each([
  {
    what: 'a realm file',
    schemas: sectionSchemas(realmView(kinds)),
    options: { fillDefaults: false },
  },
  { what: 'the configuration', schemas: configSchemas(), options: { fillDefaults: true } },
])('the compiled validators of $what', ({ what, schemas, options }) => {
  it('find the same errors and fill in the same defaults, section by section', async () => {
    const compiled = await load(what, compiledModule(schemas, options))
    expect(Object.keys(compiled)).toEqual(Object.keys(schemas))
    const ajv = createAjv({ ...options, isBrief: true })
    for (const [name, schema] of Object.entries(schemas)) {
      const values = wrongValues(schema)
      const found = findings(compiled[name], values)
      expect(found).toContain('"keyword":"type"')
      expect(found).toBe(findings(ajv.compile(schema), values))
    }
  })
})
