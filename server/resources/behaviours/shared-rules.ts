/** The rules that server and CLI share (`schemas/rules`), held against the realm as it would be. */

import type { Doc } from '#schemas/json-schema.ts'
import { rules } from '#schemas/rules/index.ts'
import type { Rule, RuleContext } from '#schemas/rules/rule.ts'
import type { Behaviour } from '../behaviour.ts'
import { type Draft, type Drafts, draftValue } from '../drafts.ts'

const listed = new WeakMap<Drafts, Map<string, ReadonlyMap<string, Doc>>>()

/** Made once for a change: rules are checked when no draft changes any more. */
const allOf = (drafts: Drafts, kind: string): ReadonlyMap<string, Doc> => {
  const lists = listed.get(drafts) ?? new Map<string, ReadonlyMap<string, Doc>>()
  listed.set(drafts, lists)
  const found =
    lists.get(kind) ??
    new Map(
      drafts
        .all()
        .filter((other) => other.kind.kind === kind && other.body !== null)
        .map((other) => [other.key, draftValue<Doc>(other)]),
    )
  lists.set(kind, found)
  return found
}

const contextOf = (draft: Draft, drafts: Drafts): RuleContext => {
  const given = new Set(Object.keys(draft.secrets))
  return {
    find: (kind, key) => {
      const other = drafts.find(kind, key)
      return other === undefined || other.body === null ? undefined : draftValue<Doc>(other)
    },
    all: (kind) => allOf(drafts, kind),
    // Most rules never ask.
    get settings() {
      return drafts.settings()
    },
    secrets: new Set([...Object.keys(draft.sealed), ...given]),
    given,
  }
}

const checkBy =
  (rule: Rule, own: Behaviour['check']): NonNullable<Behaviour['check']> =>
  (draft, drafts) => [
    ...rule(draftValue<Doc>(draft), draft.key, contextOf(draft, drafts)),
    ...(own?.(draft, drafts) ?? []),
  ]

/** The behaviours along with every shared rule; a kind may have a rule and no other code. */
export const withSharedRules = (
  behaviours: Readonly<Record<string, Behaviour>>,
): Map<string, Behaviour> => {
  const all = new Map(Object.entries(behaviours))
  for (const [kind, rule] of rules) {
    const own = all.get(kind)
    all.set(kind, { ...own, check: checkBy(rule, own?.check) })
  }
  return all
}
