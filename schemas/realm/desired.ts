/**
 * The desired document of an entry in a file: its value in canonical form, on top of the built-in value for a built-in
 * document, with its secrets apart.
 */

import type { Doc } from '../json-schema.ts'
import type { Kind } from '../kind.ts'
import { compact, contentHash } from '../normalize.ts'
import { splitSecrets } from '../walk.ts'
import type { Entry } from './realm-document.ts'
import { seedOf } from './seeds.ts'

export interface Desired {
  readonly kind: Kind
  readonly key: string
  /** In the compact form. */
  readonly body: Doc
  readonly hash: string
  /** As they are written: values, or references such as `${env:NAME}`. */
  readonly secrets: Readonly<Record<string, string>>
  readonly renamedFrom: string | null
  readonly protected: boolean
  readonly pointer: string
}

export const desiredOf = (entry: Entry): Desired => {
  const { kind, key, value, renamedFrom, pointer } = entry
  const { doc, secrets } = splitSecrets(kind, value)
  const body = compact(kind, { ...seedOf(kind, renamedFrom ?? key)?.doc, ...doc })
  return {
    kind,
    key,
    body,
    hash: contentHash(body),
    secrets,
    renamedFrom,
    protected: entry.protected,
    pointer,
  }
}
