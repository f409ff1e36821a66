/** An endpoint of provisioning below `/realms/{realm}`, and the realm that a request is for. */

import type { FastifyInstance } from 'fastify'
import { Provisioning, type ProvisioningDoc } from '#schemas/kinds/provisioning/provisioning.ts'
import { complete } from '#schemas/normalize.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'

export interface Endpoint {
  /** Below the issuer, such as `/connect/register`. */
  readonly path: string
  routes(app: FastifyInstance): void
}

export const urlOf = (path: string): string => `/realms/:realm${path}`

/** What the realm offers and allows. */
export const provisioningOf = async (view: RealmView): Promise<ProvisioningDoc> => {
  const document = await view.get(Provisioning.kind, Provisioning.kind)
  return document
    ? contentOf<ProvisioningDoc>(document)
    : (complete(Provisioning, {}) as ProvisioningDoc)
}
