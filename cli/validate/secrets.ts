/** Secrets that stand in a file as they are. What is a hash already may. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import type { Finding } from './finding.ts'
import { segmentsOf } from './locate.ts'
import type { Model } from './model.ts'
import { isSecretReference } from './schema.ts'

const isHash = (kind: Kind, pointer: string): boolean => {
  const schema = segmentsOf(pointer).reduce<JsonSchema | undefined>(
    (inner, segment) => inner?.properties?.[segment],
    kind.spec,
  )
  return schema?.format === 'phc-argon2id'
}

export const checkSecrets = (model: Model): Finding[] =>
  model.declared.flatMap(({ kind, pointer, secrets }) =>
    Object.entries(secrets)
      .filter(([field, text]) => !isSecretReference(text) && !isHash(kind, field))
      .map(([field]) => ({
        severity: 'warning',
        code: 'literal-secret',
        pointer: `${pointer}${field}`,
        message: 'a secret stands in the file',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
        hint: 'name where it comes from instead: ${env:NAME} or ${file:PATH}',
      })),
  )
