/** Secrets that a document gets when it is made without one: who makes it has to be told, or nobody ever knows. */

import type { Doc } from '../json-schema.ts'
import type { Kind } from '../kind.ts'
import { Client, type ClientDoc } from '../kinds/client.ts'
import { complete } from '../normalize.ts'

/** Whether a client proves who it is with a secret. */
export const usesSecret = ({
  publicClient,
  tokenEndpointAuthMethod,
}: Pick<ClientDoc, 'publicClient' | 'tokenEndpointAuthMethod'>): boolean =>
  !publicClient && tokenEndpointAuthMethod.startsWith('client_secret')

/** Pointers of the secrets that are made up for it, unless they are given. */
export const madeSecrets = (kind: Kind, doc: Doc): readonly string[] => {
  if (kind === Client && !usesSecret(complete(kind, doc) as unknown as ClientDoc)) return []
  return Object.entries(kind.spec.properties ?? {})
    .filter(([, schema]) => schema['x-secret']?.made)
    .map(([name]) => `/${name}`)
}
