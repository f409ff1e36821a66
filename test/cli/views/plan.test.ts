/** What plans look like beyond the golden ones: several realms, colours, limits. */

import { describe, expect, it } from 'vitest'
import { actualOf, actualOfNewRealm } from '#cli/planning/actual.ts'
import type { Plan, RealmPlan } from '#cli/planning/plan.ts'
import { planRealm } from '#cli/planning/plan-realm.ts'
import { createStyle, plain } from '#cli/views/human/elements/style.ts'
import { planText } from '#cli/views/human/estate/plan.ts'
import { planOutput } from '#cli/views/json/plan.ts'
import { planMarkdown } from '#cli/views/markdown/plan.ts'
import { appliedText } from '#cli/views/plan/words.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import { exportOf } from '../plans/case.ts'

const planOf = (value: Doc, actual: Doc | null): RealmPlan => {
  const { entries, listings } = flatten(value)
  return planRealm(
    { desired: entries.map(desiredOf), listings },
    actual ? actualOf(exportOf(actual)) : actualOfNewRealm(String(value['realm'])),
    {
      source: 'estate',
      prune: 'owned',
      differingSecrets: [],
      placeOf: () => undefined,
      secretSourceOf: () => ({ from: 'env', name: 'SECRET' }),
    },
  )
}

const together = (...realms: RealmPlan[]): Plan => ({
  formatVersion: 1,
  version: '1.0.0',
  createdAt: '2026-01-01T00:00:00.000Z',
  server: 'https://id.example',
  guards: { maxDeletions: 20 },
  realms,
})

const created = planOf({ realm: 'new', roles: [{ name: 'support' }] }, null)
const unchanged = planOf({ realm: 'same', roles: [] }, { realm: 'same', roles: [] })
const pruned = planOf(
  { realm: 'less', roles: [] },
  { realm: 'less', roles: [{ name: 'a' }, { name: 'b' }] },
)

describe('a plan of several realms', () => {
  it('has a heading and a line for each, and a total', () => {
    const lines = planText(together(created, unchanged, pruned), plain).split('\n')
    expect(lines.filter((line) => /^(Realm|Plan:|No changes|Total)/.test(line))).toEqual([
      'Realm new (new, source "estate"):',
      'Plan: 1 to add, 0 to change, 0 to destroy.',
      'Realm same (revision 7, source "estate"):',
      'No changes. The realm matches the files.',
      'Realm less (revision 7, source "estate"):',
      'Plan: 0 to add, 0 to change, 2 to destroy.',
      'Total for 3 realms: 1 to add, 0 to change, 2 to destroy.',
    ])
  })

  it('explains the symbols that it uses', () => {
    const legend = planText(together(created, pruned), plain).split('\n').slice(1, 4)
    expect(legend).toEqual(['  + create', '  - destroy', ''])
  })

  it('says nothing but that nothing changes where nothing does', () => {
    expect(planText(together(unchanged), plain)).toBe('No changes. The realm matches the files.\n')
  })
})

describe('colours', () => {
  const coloured = '\u001b['
  const text = (isTTY: boolean, env: Record<string, string>): string =>
    planText(together(pruned), createStyle({ isTTY, env }))

  it('are for terminals only', () => {
    expect(text(true, {})).toContain(coloured)
    expect(text(false, {})).not.toContain(coloured)
    expect(text(true, { TERM: 'dumb' })).not.toContain(coloured)
  })

  it('are refused by NO_COLOR and forced by FORCE_COLOR', () => {
    expect(text(true, { NO_COLOR: '1' })).not.toContain(coloured)
    expect(text(true, { NO_COLOR: '' })).toContain(coloured)
    expect(text(false, { FORCE_COLOR: '1' })).toContain(coloured)
    expect(text(true, { FORCE_COLOR: '0' })).not.toContain(coloured)
  })

  it('change nothing but the colours', () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them
    const bare = text(true, {}).replaceAll(/\u001b\[\d+m/g, '')
    expect(bare).toBe(planText(together(pruned), plain))
  })
})

describe('a comment on a pull request', () => {
  const many = (realm: string, count: number): RealmPlan =>
    planOf(
      {
        realm,
        roles: Array.from({ length: count }, (_, i) => ({
          name: `role-${i}`,
          description: `The role with number ${i}.`,
        })),
      },
      { realm, roles: [] },
    )

  it('fits into its limit, closes what it opened and says what is left out', () => {
    const text = planMarkdown(together(many('large', 3000), many('small', 2)))
    expect(text.length).toBeLessThanOrEqual(60_000)
    expect(text.length).toBeGreaterThan(50_000)
    const left = Number(text.match(/Left out for length: (\d+) to create\./)?.[1])
    expect(text.split('\n+ role "').length - 1 + left).toBe(3002)
    expect(text.match(/<details>/g)).toHaveLength(2)
    expect(text.match(/<\/details>/g)).toHaveLength(2)
    expect(text.match(/^`{3,}/gm)).toHaveLength(4)
    expect(text).toContain('+ role "role-1" {')
    expect(text).toContain('Realm <code>small</code>: Plan: 2 to add')
  })

  it('stays within it with a thousand realms', () => {
    const realms = Array.from({ length: 1000 }, (_, i) => many(`realm-${i}`, 3))
    const text = planMarkdown(together(...realms))
    expect(text.length).toBeLessThanOrEqual(60_000)
    expect(text).toMatch(/… and \d+ more realms do not fit here/)
    expect(text.match(/<details>/g)?.length).toBe(text.match(/<\/details>/g)?.length)
  })

  it('counts all realms in its first line', () => {
    expect(planMarkdown(together(created, pruned)).split('\n')[0]).toBe(
      '### iamctl plan: 1 to add, 0 to change, 2 to destroy',
    )
    expect(planMarkdown(together(unchanged)).split('\n')[0]).toBe('### iamctl plan: no changes')
  })

  it('keeps what it did not write itself inside of code', () => {
    const odd = { ...created, realm: 'a`</code>@everyone<b>' }
    const text = planMarkdown({ ...together(odd), server: 'https://x/<img>@me _b_ [c](d)' })
    const [outside = ''] = text.split('```diff')
    expect(outside).not.toMatch(/<(img|b)>|@|`|_|\[/)
    expect(outside).toContain('https://x/&#60;img&#62;&#64;me')
    expect(outside).toContain('a&#96;&#60;/code&#62;&#64;everyone&#60;b&#62;')
  })
})

describe('a plan for programs', () => {
  it('is the plan with its sum', () => {
    const plan = together(created, pruned)
    expect(planOutput(plan)).toEqual({
      ...plan,
      hasChanges: true,
      isApplicable: true,
      summary: { add: 1, change: 0, destroy: 2, adopt: 0, along: 0 },
      certificates: [],
    })
    expect(planOutput(together(unchanged))).toMatchObject({ hasChanges: false })
  })
})

describe('the end of an apply', () => {
  it('has the form that pipelines search for', () => {
    expect(appliedText({ add: 1, change: 2, destroy: 3, adopt: 0, along: 0 })).toBe(
      'Apply complete! Documents: 1 added, 2 changed, 3 destroyed.',
    )
    expect(appliedText({ add: 1, change: 2, destroy: 3, adopt: 4, along: 5 })).toBe(
      'Apply complete! Documents: 1 added, 2 changed, 3 destroyed, 4 adopted, 5 changed along.',
    )
  })
})
