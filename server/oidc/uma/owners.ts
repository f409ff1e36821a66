/** Finds the owner in whose name a caller of the protection API decides about a resource. */

import type { Resource } from '#server/authz/evaluation/evaluate.ts'
import { isNamed } from '#server/authz/evaluation/facts.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Users } from '#server/users/users.ts'
import { oauthError } from '../errors.ts'
import { notFound, type ProtectionCaller } from './protection-token.ts'

const forbidden = oauthError('access_denied', 403)

/** A user decides about own resources alone; those of others are not there. */
export const createOwnerOf =
  (users: Pick<Users, 'find'>) =>
  async (
    { issuer, user }: Pick<ProtectionCaller, 'user'> & { readonly issuer: Issuer },
    resource: Resource | undefined,
  ): Promise<UserRow> => {
    const named = resource?.doc.owner ?? ''
    const isOwn = user === undefined || isNamed(named, user)
    if (!resource || !isOwn) throw notFound('there is no such resource')
    if (!resource.doc.ownerManagedAccess)
      throw forbidden('the resource has no ownerManagedAccess: its permissions are configuration')
    const owner = named === '' ? undefined : await users.find(issuer.name, named)
    if (!owner || !isNamed(named, owner)) throw forbidden('the resource belongs to no user')
    return owner
  }
