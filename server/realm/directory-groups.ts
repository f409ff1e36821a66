/** Groups that a directory makes: runtime documents, written through the one write path. */

import { Group } from '#schemas/kinds/users/group.ts'
import type { GroupDocuments, GroupOperation } from '#server/directories/sync/group-documents.ts'
import { systemCaller } from '#server/http/caller.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { type Operation, runtimeChannel } from './write/operations.ts'
import type { Writer } from './write/write.ts'

/** Keys of groups are paths. */
const keyOf = (name: string): string => `/${name}`

const operationOf = (given: GroupOperation): Operation => {
  const { name } = given
  if (given.op === 'delete') return { op: 'delete', kind: Group, key: keyOf(name) }
  return {
    op: 'put',
    kind: Group,
    key: keyOf(name),
    secrets: {},
    ...(given.op === 'create'
      ? { doc: { name } }
      : { from: keyOf(given.from), doc: (before) => ({ ...before, name }) }),
  }
}

export const createGroupDocuments = ({
  copy,
  writer,
}: {
  readonly copy: Copy
  readonly writer: Writer
}): GroupDocuments => ({
  list: async (realm) => {
    const view = await copy.fresh(realm)
    const groups = (await view?.list(Group.kind)) ?? []
    return groups
      .filter(({ key }) => key.lastIndexOf('/') === 0)
      .map(({ id, key, origin }) => ({ id, name: key.slice(1), isRuntime: origin === 'runtime' }))
  },
  write: async ({ realm, by, operations, alongside }) => {
    await writer.write({
      realm,
      caller: { ...systemCaller, ...by },
      channel: runtimeChannel,
      operations: operations.map(operationOf),
      alongside: (effects) => ({
        statements: alongside(
          new Map(
            effects.flatMap(({ before, after }) =>
              !before && after ? [[after.key.slice(1), after.id]] : [],
            ),
          ),
        ),
        events: [],
      }),
    })
  },
})
