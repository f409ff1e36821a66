/** Writes the schemas for editors. `npm run schemas`; CI checks that what is committed is what this writes. */

import { writeFileSync } from 'node:fs'
import { estateSchema } from './estate.ts'
import { kinds } from './registry.ts'
import { realmView, yamlView } from './views.ts'

const write = (name: string, schema: unknown): void =>
  writeFileSync(
    new URL(`${name}.schema.json`, import.meta.url),
    `${JSON.stringify(schema, null, 2)}\n`,
  )

write('realm', realmView(kinds))
write('estate', estateSchema)
for (const kind of kinds)
  write(kind.kind, {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: kind.kind,
    ...yamlView(kind, kinds),
    ...(kind.shape === 'tree' ? { $defs: { [kind.kind]: yamlView(kind, kinds) } } : {}),
  })
