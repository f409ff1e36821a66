/** Writes the schemas for editors. `npm run schemas`; CI checks that what is committed is what this writes. */

import { writeFileSync } from 'node:fs'
import { editorSchemas } from './editor-schemas.ts'

for (const [name, schema] of editorSchemas())
  writeFileSync(
    new URL(`${name}.schema.json`, import.meta.url),
    `${JSON.stringify(schema, null, 2)}\n`,
  )
