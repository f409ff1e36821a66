/** Reports secrets that are written in a file; hashes are allowed. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { secretFields } from '#schemas/walk.ts'
import type { Finding } from '../finding.ts'
import { segmentsOf } from '../locate.ts'
import type { Model } from '../model.ts'
import { isSecretReference } from '../schema.ts'

const hashesOfKinds = new WeakMap<Kind, ReadonlySet<string>>()

/** Pointers of the secrets of a kind that are hashes already. */
const hashesOf = (kind: Kind): ReadonlySet<string> => {
  const known = hashesOfKinds.get(kind)
  if (known !== undefined) return known
  const schemaAt = (pointer: string): JsonSchema | undefined =>
    segmentsOf(pointer).reduce<JsonSchema | undefined>(
      (inner, segment) => inner?.properties?.[segment],
      kind.spec,
    )
  const found = new Set(
    secretFields(kind).flatMap(({ pointer }) =>
      schemaAt(pointer)?.format === 'password-hash' ? [pointer] : [],
    ),
  )
  hashesOfKinds.set(kind, found)
  return found
}

export const checkSecrets = (model: Model): Finding[] => {
  const findings: Finding[] = []
  for (const { kind, pointer, secrets } of model.declared)
    for (const field in secrets) {
      if (hashesOf(kind).has(field) || isSecretReference(secrets[field] ?? '')) continue
      findings.push({
        severity: 'warning',
        code: 'literal-secret',
        pointer: `${pointer}${field}`,
        message: 'the secret is written in the file',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
        hint: 'use a reference: ${env:NAME} or ${file:PATH}',
      })
    }
  return findings
}
