/** A flow that the current rules refuse: stored by an earlier version, or written to the database directly. */

import type { FlowDoc } from '#schemas/kinds/sign-in/flow.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { World } from '../world.ts'

type Execution = FlowDoc['authenticationExecutions'][number]

/** Past every rule; the server sees it from now on. */
export const storeFlow = async (
  { server, realm }: World,
  alias: string,
  executions: readonly Partial<Execution>[],
): Promise<void> => {
  const { storage } = server.areas
  const { db } = storage
  const authenticationExecutions = executions.map((one) => ({ requirement: 'REQUIRED', ...one }))
  const row = await db
    .selectFrom('realms')
    .select('seq')
    .where('name', '=', realm)
    .executeTakeFirstOrThrow()
  const seq = row.seq + 1
  await storage.commit([
    statement(
      db
        .updateTable('documents')
        .set({ body: JSON.stringify({ alias, authenticationExecutions }) })
        .where('realm', '=', realm)
        .where('kind', '=', 'flow')
        .where('key', '=', alias),
    ),
    statement(db.updateTable('realms').set({ seq }).where('name', '=', realm)),
    ...insertRows(db, 'changes', [{ realm, seq, kind: 'flow', key: alias }]),
  ])
}
