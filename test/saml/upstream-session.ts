/** A session that came from an upstream identity provider, without the sign-in there. */

import { statement } from '#server/storage/statements.ts'
import type { OidcSite } from '../oidc/fixture.ts'

/** Makes the newest session one of them, as a sign-in at the identity provider would have. */
export const cameFrom = async (site: OidcSite, issuer: string): Promise<void> => {
  const { storage } = site.server.areas
  const { db } = storage
  await site.admin('POST', '/identity-providers', {
    alias: 'hub',
    protocol: 'oidc',
    config: { issuer, clientId: 'acme' },
  })
  const { id } = await db
    .selectFrom('documents')
    .select('id')
    .where('kind', '=', 'identity-provider')
    .executeTakeFirstOrThrow()
  const { sid, realm, user_id, created_at, expires_at } = await db
    .selectFrom('sessions')
    .selectAll()
    .where('realm', '=', 'acme')
    .orderBy('created_at', 'desc')
    .executeTakeFirstOrThrow()
  const none = { upstream_sid: null, upstream_name: null, data: '' }
  const row = { sid, provider: id, realm, user_id, issuer, subject: 's', created_at, expires_at }
  await storage.commit([
    statement(db.insertInto('broker_sessions').values({ ...row, ...none })),
    statement(db.updateTable('sessions').set({ amr: '["fed"]' }).where('sid', '=', sid)),
  ])
}
