/** The revisions of a realm: a list, one of them, or what differs between two. */

import { diff as diffOf } from '#schemas/diff.ts'
import type { ChangesetChange, RevisionSummary } from '#schemas/wire/wire.ts'
import { type Actual, actualOf } from '../../planning/actual.ts'
import { byPlace } from '../../planning/names.ts'
import { summaryOfCounts } from '../../planning/plan.ts'
import { printFields } from '../../views/human/elements/fields.ts'
import { note } from '../../views/human/elements/note.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { moment } from '../../views/human/elements/values.ts'
import { showChanges } from '../../views/human/show-plan.ts'
import { printJson } from '../../views/json/json.ts'
import { signsText } from '../../views/plan/words.ts'
import type { Invocation } from '../invocation.ts'
import { withRealm } from './connection.ts'

const whoOf = ({ actorName, actor }: RevisionSummary): string => actorName ?? actor

const commitOf = ({ provenance }: RevisionSummary): string =>
  provenance?.['commit']?.slice(0, 10) ?? ''

export const list = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const { limit = 20, before } = invocation.flags as { limit?: number; before?: number }
    const revisions = await api.revisions(realm, {
      max: limit,
      ...(before === undefined ? {} : { before }),
    })
    if (invocation.output === 'json') return printJson(revisions)
    if (revisions.length === 0) return note(invocation, `realm ${realm} has no older revision`)
    return printTable(
      ['revision', 'when', 'who', 'through', 'changes', 'commit', 'message'],
      revisions.map((one) => [
        String(one.revision),
        moment(one.at),
        whoOf(one),
        one.source,
        signsText(summaryOfCounts(one)),
        commitOf(one),
        one.message ?? '',
      ]),
    )
  })

export const show = (invocation: Invocation, revision: number): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const detail = await api.revision(realm, revision)
    if (invocation.output === 'json') return printJson(detail)
    printFields([
      ['revision', String(detail.revision)],
      ['when', moment(detail.at)],
      ['who', whoOf(detail)],
      ['through', detail.source],
      ['message', detail.message ?? ''],
      ...Object.entries(detail.provenance ?? {}),
    ])
    showChanges(detail.changes, { done: true })
  })

/** What leads from one state to the other; who did it in between is in the list. */
const between = (before: Actual, after: Actual): ChangesetChange[] => {
  const places = new Set([...before.documents.keys(), ...after.documents.keys()])
  const changes: ChangesetChange[] = []
  for (const place of places) {
    const [old, now] = [before.documents.get(place), after.documents.get(place)]
    const document = now ?? old
    if (!document || old?.hash === now?.hash) continue
    changes.push({
      op: old && now ? 'update' : now ? 'create' : 'delete',
      kind: document.kind.kind,
      key: document.key,
      fields: diffOf(document.kind, old?.body ?? null, now?.body ?? null),
      secrets: [],
    })
  }
  return changes.sort(byPlace)
}

export const diff = (invocation: Invocation, from: number, to: number): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const stateAt = async (revision: number): Promise<Actual> =>
      actualOf(await api.exportRealm(realm, { builtIns: true, revision }))
    const changes = between(await stateAt(from), await stateAt(to))
    if (invocation.output === 'json') return printJson({ realm, from, to, changes })
    if (changes.length === 0)
      return note(invocation, `revisions ${from} and ${to} of realm ${realm} are the same`)
    return showChanges(changes, { done: true })
  })
