/**
 * Checks that a saved plan shows its real changes. The digest is not a signature: an edited plan can have a new digest. Each
 * change is therefore compared with its own documents and with a dry run of the server, and the counts for the guards are
 * computed again.
 */

import { isDeepStrictEqual } from 'node:util'
import { diff, type FieldChange } from '#schemas/diff.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { kindNamed } from '#schemas/registry.ts'
import { propertySchema } from '#schemas/walk.ts'
import type { ChangesetChange, Place } from '#schemas/wire/wire.ts'
import { ProblemError } from '../client/http/errors.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { type ChangesetOptions, dryRunOf } from '../planning/changeset.ts'
import type { Engine } from '../planning/engine.ts'
import { nameOf, placeKey } from '../planning/names.ts'
import { type Change, hasWork, type Plan, type RealmPlan, summaryOf } from '../planning/plan.ts'

const refusal = (realm: string, { kind, key }: Place): CommandError =>
  new CommandError(
    exitCodes.invalid,
    `realm ${realm}: the saved plan does not show its change of ${nameOf(kind, key)}`,
    { hint: 'the file was edited after it was saved; run `iamctl plan --out` again' },
  )

/** A change whose fields are not those in which its own two documents differ. */
const isForged = ({ action, kind, before, doc, fields }: Change): boolean => {
  if (action === 'delete' || action === 'create')
    return (doc === null) !== (action === 'delete') || fields.length > 0
  return (
    doc === null ||
    before === null ||
    !isDeepStrictEqual([...diff(kindNamed(kind), before, doc)], [...fields])
  )
}

/** A reference follows a rename, and goes with what is deleted: the plan shows that one alone. */
const isReference = ({ kind }: Place, { pointer }: FieldChange): boolean => {
  let schema: JsonSchema | undefined = kindNamed(kind).spec
  for (const segment of pointer.split('/').slice(1)) {
    if (schema === undefined) return false
    schema = schema.items && /^\d+$/.test(segment) ? schema.items : propertySchema(schema, segment)
  }
  return schema?.['x-ref'] !== undefined || schema?.items?.['x-ref'] !== undefined
}

/** What the server would do that the plan does not show. */
const isHidden = (told: ChangesetChange, plan: RealmPlan): boolean => {
  const place = placeKey(told.kind, told.key)
  const isOf = ({ kind, key }: Place): boolean => placeKey(kind, key) === place
  const shown = plan.changes.find(isOf)
  if (told.op === 'delete')
    return shown?.action !== 'delete' && !plan.changes.some(({ cascades }) => cascades.some(isOf))
  if (told.op === 'create') return shown?.action !== 'create'
  return told.fields.some(
    (field) =>
      !isReference(told, field) && !shown?.fields.some((one) => isDeepStrictEqual(one, field)),
  )
}

const checked = async (
  engine: Engine,
  plan: RealmPlan,
  options: ChangesetOptions,
): Promise<RealmPlan> => {
  const forged = plan.changes.find(isForged)
  if (forged) throw refusal(plan.realm, forged)
  const counted = { ...plan, summary: summaryOf(plan.changes) }
  if (plan.problems.length > 0 || !hasWork(plan)) return counted
  try {
    const { changes, impacts, along } = await engine.changeset(plan.realm, dryRunOf(plan, options))
    const hidden = changes.find((told) => isHidden(told, plan))
    if (hidden) throw refusal(plan.realm, hidden)
    return { ...counted, impacts, summary: { ...counted.summary, along } }
  } catch (error) {
    // What the server refuses now it refuses again when the plan is sent; other realms go on.
    if (error instanceof ProblemError) return counted
    throw error
  }
}

/** Ends the command where the plan does not show what it would do, or acts for another source than this estate. */
export const checkSaved = async (
  engine: Engine,
  plan: Plan,
  options: ChangesetOptions & { readonly source: string },
): Promise<Plan> => {
  const realms: RealmPlan[] = []
  for (const realm of plan.realms) {
    if (realm.source !== options.source)
      throw new CommandError(
        exitCodes.invalid,
        `the plan was made for the source ${realm.source}, not for ${options.source}`,
        {
          hint: 'apply it with the iamctl.yaml of the plan, or name the source with --source',
        },
      )
    realms.push(await checked(engine, realm, options))
  }
  return { ...plan, realms }
}
