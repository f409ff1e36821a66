/** What `iamctl explain` has to say about the fields of a service provider. */

import { describe, expect, it } from 'vitest'
import { explain } from '#cli/explain/explain.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'

const pathsIn = (schema: JsonSchema, above: string): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const path = `${above}.${name}`
    return [path, ...pathsIn(inner, path), ...pathsIn(inner.items ?? {}, path)]
  })

describe('the fields of a service provider', () => {
  it.each(pathsIn(SamlClient.spec, SamlClient.kind))('%s is explained', (path) => {
    expect(explain(path)).toMatchObject({ doc: expect.stringMatching(/\w{2}/) })
  })
})
