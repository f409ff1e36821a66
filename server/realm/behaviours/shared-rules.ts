/** The rules that server and CLI share (`schemas/rules`), held against the realm as it would be. */

import type { Doc } from '#schemas/json-schema.ts'
import { rules } from '#schemas/rules/index.ts'
import { createOnce, type Rule, type RuleContext } from '#schemas/rules/rule.ts'
import { type Draft, type Drafts, draftValue } from '../write/drafts.ts'
import type { Behaviour } from './behaviour.ts'

const madeFor = new WeakMap<Drafts, RuleContext['once']>()

/** Rules are checked when no draft changes any more. */
const onceFor = (drafts: Drafts): RuleContext['once'] => {
  const once = madeFor.get(drafts) ?? createOnce()
  madeFor.set(drafts, once)
  return once
}

const allOf = (drafts: Drafts, kind: string): ReadonlyMap<string, Doc> =>
  onceFor(drafts)(
    `all of ${kind}`,
    () =>
      new Map(
        drafts
          .all()
          .filter((other) => other.kind.kind === kind && other.body !== null)
          .map((other) => [other.key, draftValue<Doc>(other)]),
      ),
  )

const contextOf = (draft: Draft, drafts: Drafts): RuleContext => {
  const given = new Set(Object.keys(draft.secrets))
  return {
    find: (kind, key) => {
      const other = drafts.find(kind, key)
      return other === undefined || other.body === null ? undefined : draftValue<Doc>(other)
    },
    all: (kind) => allOf(drafts, kind),
    once: onceFor(drafts),
    // Most rules never ask.
    get settings() {
      return drafts.settings()
    },
    secrets: new Set([...Object.keys(draft.sealed), ...given]),
    given,
    stays: !draft.named,
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
