/** A plan as a list that can be gone through: an item for every change, warning and error, with lines below it. */

import { isAdoption, type Plan, type RealmPlan } from '../../../planning/plan.ts'
import { changeLines, signOf } from '../../plan/change-lines.ts'
import type { Line, Sign } from '../../plan/lines.ts'
import { quoted } from '../../plan/text.ts'
import { harmless } from '../elements/text.ts'

export interface Item {
  readonly sign: Sign | '!'
  readonly title: string
  readonly lines: readonly Line[]
  /** What a search looks in, in lower case. */
  readonly text: string
}

const item = (sign: Item['sign'], title: string, lines: readonly Line[] = []): Item => ({
  sign,
  title,
  lines,
  text: [title, ...lines.map((line) => line.text)].join('\n').toLowerCase(),
})

const realmItems = (plan: RealmPlan, several: boolean): Item[] => {
  const where = several ? `${harmless(plan.realm)}: ` : ''
  return [
    ...plan.problems.map(({ message }) => item('!', `${where}error: ${harmless(message)}`)),
    ...plan.warnings.map(({ message }) => item('!', `${where}warning: ${harmless(message)}`)),
    ...(plan.createRealm ? [item('+', `${where}realm ${quoted(plan.realm)} will be created`)] : []),
    ...plan.changes
      .filter((change) => !isAdoption(change))
      .map((change) => {
        const [headline, ...lines] = changeLines(change, plan)
        return item(signOf(change), where + (headline?.text.replace(/^# /, '') ?? ''), lines)
      }),
  ]
}

export const itemsOf = ({ realms }: Plan): Item[] =>
  realms.flatMap((realm) => realmItems(realm, realms.length > 1))
