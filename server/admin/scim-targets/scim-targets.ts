/** The verbs of a SCIM target: its status, its comparison with the realm, and a check of the connection. */

import { ScimTarget } from '#schemas/kinds/provisioning/scim-target.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { doneBy, refuseUnlessDry } from '#server/http/caller.ts'
import type { ScimOutArea } from '#server/provisioning/scim/out/open.ts'
import { ScimRefusal, SecretMissing } from '#server/provisioning/scim/out/protocol/refusal.ts'
import { RemovalsRefused } from '#server/provisioning/scim/out/reconcile/reconcile.ts'
import type { ScimTargetInUse } from '#server/provisioning/scim/out/target.ts'
import { findIn } from '#server/realm/read/find.ts'
import { type Action, type ActionContext, asChecked, bodyOf } from '../action.ts'

export interface ScimTargetActionParts {
  readonly scimOut: Pick<ScimOutArea, 'targetOf' | 'standingOf' | 'reconcile' | 'check'>
  readonly recorder: Pick<Recorder, 'commit'>
}

const count = { type: 'integer', minimum: 0 } as const
const text = { type: 'string' } as const
const time = { type: ['integer', 'null'] } as const
const value = { anyOf: [{ type: 'string' }, { type: 'boolean' }, { type: 'null' }] } as const
const kind = { type: 'string', enum: ['user', 'group'] } as const

const figures = bodyOf({
  known: { ...count, description: 'At the target.' },
  waiting: { ...count, description: 'To be sent, also those that failed.' },
  failed: count,
})

const standing = bodyOf({
  enabled: { type: 'boolean' },
  users: figures,
  groups: figures,
  held: { ...count, description: 'Removals that the guard keeps back.' },
  lastSyncAt: time,
  lastError: { type: ['string', 'null'] },
  nextAttemptAt: { ...time, description: 'When the target is tried again after a failure.' },
  failures: {
    type: 'array',
    description: 'The first 100.',
    items: bodyOf({ kind, id: text, name: text, problem: text }),
  },
})

const report = bodyOf({
  dryRun: { type: 'boolean' },
  compared: { ...count, description: 'Users and groups of the target that were read.' },
  created: count,
  adopted: count,
  updated: count,
  removed: { ...count, description: 'Deactivated or deleted.' },
  strangers: {
    ...count,
    description: 'Users of the target that match no user of the realm; they are left alone.',
  },
  status: text,
  changes: {
    type: 'array',
    description: 'The first 1000.',
    items: bodyOf({
      op: { type: 'string', enum: ['create', 'adopt', 'update', 'deactivate', 'delete'] },
      kind,
      name: text,
      fields: { type: 'array', items: bodyOf({ field: text, before: value, after: value }) },
    }),
  },
})

const finding = bodyOf(
  {
    check: text,
    status: { type: 'string', enum: ['ok', 'warning', 'error'] },
    message: text,
    remedy: text,
  },
  ['check', 'status', 'message'],
)

const explained = (error: unknown): unknown => {
  if (error instanceof RemovalsRefused) return new Problem('removals', error.message)
  if (error instanceof SecretMissing) return new Problem('conflict', error.message)
  if (error instanceof ScimRefusal)
    return new Problem('unavailable', `the target cannot be read: ${error.message}`)
  return error
}

/** What is sent, and what failed, is about users: reading it needs what reading them needs. */
const refuseUnlessMayView = ({ caller }: ActionContext): void => {
  if (!caller.permissions.has(User.permission.read))
    throw new Problem(
      'forbidden',
      `a SCIM target has users of the realm: this also needs the permission ${User.permission.read}`,
    )
}

export const scimTargetActions = ({ scimOut, recorder }: ScimTargetActionParts): Action[] => {
  const common = {
    permission: 'manage-realm',
    resourceType: ScimTarget.resourceType,
    planning: true,
  } as const
  const targetIn = async ({ view, params }: ActionContext): Promise<ScimTargetInUse> =>
    scimOut.targetOf(await findIn(view, ScimTarget, params['id'] ?? ''))

  return [
    {
      ...common,
      operationId: 'read-scim-target-status',
      method: 'GET',
      path: '/scim-targets/:id/status',
      summary: 'How far a SCIM target is: what it has, what waits, what failed',
      reply: { status: 200, schema: standing },
      handle: async (context) => {
        const target = await targetIn(context)
        refuseUnlessMayView(context)
        return scimOut.standingOf(target)
      },
    },
    {
      ...common,
      operationId: 'reconcile-scim-target',
      method: 'POST',
      path: '/scim-targets/:id/reconcile',
      events: ['ADMIN_ACTION'],
      summary: 'Compares a SCIM target with the realm and sends the differences, or shows them',
      query: bodyOf(
        {
          dryRun: { type: 'boolean', default: false, description: 'Changes nothing.' },
          allowRemovals: {
            ...count,
            description: 'How many users may be deactivated or deleted at the target.',
          },
        },
        [],
      ),
      reply: { status: 200, schema: report },
      handle: async (context) => {
        const { view, caller, query } = context
        const { dryRun, allowRemovals } = asChecked<{ dryRun: boolean; allowRemovals?: number }>(
          query,
        )
        refuseUnlessDry(caller, dryRun)
        const target = await targetIn(context)
        refuseUnlessMayView(context)
        if (!target.doc.enabled && !dryRun)
          throw new Problem('conflict', `scim-target "${target.name}" is disabled: enable it first`)
        try {
          const found = await scimOut.reconcile({ view, target, dryRun, allowRemovals })
          if (!dryRun)
            await recorder.commit(
              [],
              [
                {
                  type: 'ADMIN_ACTION',
                  realm: target.realm,
                  ...doneBy(caller),
                  outcome: 'SUCCESS',
                  resourceType: ScimTarget.resourceType,
                  resourceId: target.id,
                  detail: `reconcile: ${found.status}`,
                },
              ],
            )
          return found
        } catch (error) {
          throw explained(error)
        }
      },
    },
    {
      ...common,
      operationId: 'check-scim-target',
      method: 'POST',
      path: '/scim-targets/:id/check',
      events: [],
      summary: 'Connects to a SCIM target and tells what would fail, and which compatibility fits',
      reply: { status: 200, schema: { type: 'array', items: finding } },
      handle: async (context) => scimOut.check(await targetIn(context)),
    },
  ]
}
