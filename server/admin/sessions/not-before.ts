/** Revokes everything that was issued before now: for the realm, a client or a user. */

import type { Permission } from '#schemas/access/permissions.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { RefuseUnlessOutranked } from '#server/realm/rules/stronger.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { NotBeforeRow } from '#server/storage/tables/token-tables.ts'
import { putNotBefore } from '#server/tokens/grants/not-before.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { Users } from '#server/users/users.ts'
import { type Action, type ActionContext, bodyOf } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface NotBeforeParts {
  readonly storage: Pick<Storage, 'db'>
  readonly recorder: Recorder
  readonly clock: Clock
  readonly ranks: Ranks
  readonly users: Users
  readonly refuseUnlessOutranked: RefuseUnlessOutranked
}

type SubjectKind = NotBeforeRow['subject_kind']

const permissions: Readonly<Record<SubjectKind, Permission>> = {
  realm: 'manage-realm',
  client: 'manage-clients',
  user: 'manage-users',
}

const kindSchema = { type: 'string', enum: Object.keys(permissions) } as const

export const setNotBefore = (parts: NotBeforeParts): Action => {
  const { storage, recorder, clock, ranks, users, refuseUnlessOutranked } = parts

  const find: Readonly<
    Record<SubjectKind, (context: ActionContext, id: string) => Promise<string | undefined>>
  > = {
    realm: async ({ realm }) => realm,
    client: async ({ realm, view, caller }, id) => {
      const client = (await view.byId(Client.kind, id)) ?? (await view.get(Client.kind, id))
      if (client) await refuseUnlessOutranked(realm, [client], caller)
      return client?.id
    },
    user: async ({ realm, view, caller }, id) => {
      const user = await users.find(realm, id)
      if (user) await ranks.refuseUnlessOutranked(view, caller.permissions, user.id)
      return user?.id
    },
  }

  return {
    operationId: 'set-not-before',
    method: 'POST',
    path: '/not-before',
    permission: 'per-kind',
    resourceType: 'not-before',
    events: ['ADMIN_ACTION'],
    summary: 'Refuses all tokens that were issued before now, of the realm, a client or a user',
    body: bodyOf(
      {
        kind: kindSchema,
        id: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          description: 'Of the client (or its clientId), or of the user (or the username).',
        },
      },
      ['kind'],
    ),
    reply: {
      status: 200,
      schema: bodyOf({ kind: kindSchema, id: { type: 'string' }, at: { type: 'integer' } }),
    },
    handle: async (context) => {
      const { realm, caller, body } = context
      const kind = body['kind'] as SubjectKind
      const named = body['id'] as string | undefined
      const permission = permissions[kind]
      if (!caller.permissions.has(permission))
        throw new Problem('forbidden', `this needs the permission ${permission}`)
      if ((kind === 'realm') !== (named === undefined))
        throw invalid([
          { field: '/id', code: 'required', message: 'must be given, except of the realm' },
        ])
      const id = await find[kind](context, named ?? '')
      if (id === undefined) throw new Problem('not-found', `there is no ${kind} "${named}"`)
      const at = clock.now()
      await recorder.commit(
        [putNotBefore(storage, { realm, subject_kind: kind, subject_id: id, at })],
        [actionEvent(context, 'ADMIN_ACTION', { type: 'not-before', id }, kind)],
      )
      return { kind, id, at }
    },
  }
}
