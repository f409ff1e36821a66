/**
 * What denies an access before any policy is asked: the token endpoint answers neither for a disabled user or client, nor for
 * a client that is no resource server. An evaluation decides as it does.
 */

import { User, type UserDoc } from '#schemas/kinds/users/user.ts'
import type { ResourceAnswer } from '#server/authz/evaluation/evaluate.ts'
import type { RequestingParty } from '#server/authz/subjects.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { changedIn } from '#server/storage/documents/overlay.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenClient } from '#server/tokens/client.ts'

/** As the changeset leaves it, where the user is managed and the changeset changes the user. */
const isEnabled = (view: RealmView, { username, enabled }: UserRow): boolean => {
  const document = changedIn(view, User.kind, username)
  return document ? contentOf<UserDoc>(document).enabled : enabled === 1
}

/** Why no token is issued, whatever the policies say; undefined where policies decide. */
export const barOf = (
  view: RealmView,
  resourceServer: TokenClient,
  { user, client }: RequestingParty,
): string | undefined => {
  if (!resourceServer.doc.enabled) return 'the resource server is disabled'
  if (!resourceServer.doc.authorizationServicesEnabled)
    return 'the client is not a resource server: set authorizationServicesEnabled'
  if (client && !client.doc.enabled) return `the client ${client.clientId} is disabled`
  if (user && !isEnabled(view, user)) return `the user ${user.username} is disabled`
  if (user && user.locked !== 0) return `the user ${user.username} is locked`
  return undefined
}

/** The same answer with every scope denied; the answers of permissions and policies stay as an explanation. */
export const barredBy =
  (why: string) =>
  (answer: ResourceAnswer): ResourceAnswer => ({
    ...answer,
    status: 'DENY',
    scopes: answer.scopes.map((one) => ({ ...one, status: 'DENY', why })),
  })
