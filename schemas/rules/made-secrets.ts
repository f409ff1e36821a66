/** Secrets that are generated for a new document without one: they are returned once, to the caller who creates it. */

import type { Doc } from '../json-schema.ts'
import type { Kind } from '../kind.ts'
import { Client, type ClientDoc } from '../kinds/clients/client.ts'
import { complete } from '../normalize.ts'

/** Whether a client proves who it is with a secret. */
export const usesSecret = ({
  publicClient,
  tokenEndpointAuthMethod,
}: Pick<ClientDoc, 'publicClient' | 'tokenEndpointAuthMethod'>): boolean =>
  !publicClient && tokenEndpointAuthMethod.startsWith('client_secret')

/** Pointers of the secrets that are generated unless given. */
export const madeSecrets = (kind: Kind, doc: Doc): readonly string[] => {
  if (kind === Client && !usesSecret(complete(kind, doc) as unknown as ClientDoc)) return []
  return Object.entries(kind.spec.properties ?? {})
    .filter(([, schema]) => schema['x-secret']?.made)
    .map(([name]) => `/${name}`)
}
