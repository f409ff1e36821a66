/**
 * Golden plans: a folder each, with the files, the realm, and the plan as a value and as people see it. UPDATE=1 writes
 * the plans anew (`biome format --write test/cli/plans` afterwards); read every one of them before it is committed.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { toOperations } from '#cli/planning/operations.ts'
import type { Plan, RealmPlan } from '#cli/planning/plan.ts'
import { parsePlan, serializePlan } from '#cli/planning/saved.ts'
import { plain } from '#cli/views/human/elements/style.ts'
import { planText } from '#cli/views/human/estate/plan.ts'
import { planMarkdown } from '#cli/views/markdown/plan.ts'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { kinds } from '#schemas/registry.ts'
import { realmView } from '#schemas/views.ts'
import { changesetOperation } from '#schemas/wire/wire.ts'
import { readCase } from './case.ts'

const root = fileURLToPath(new URL('.', import.meta.url))
const names = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()

const ajv = createAjv({ fillDefaults: false })
const realmErrors = lazyValidator(ajv, realmView(kinds))
const operationErrors = lazyValidator(ajv, changesetOperation as unknown as JsonSchema)

const around = (realm: RealmPlan): Plan => ({
  formatVersion: 1,
  version: '1.0.0',
  createdAt: '2026-01-01T00:00:00.000Z',
  server: 'https://id.example',
  guards: { maxDeletions: 20 },
  realms: [realm],
})

const isUpdate = process.env['UPDATE'] === '1'

const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/** Both compare with a file, or write it. */
const goldenText = (file: string, text: string): void => {
  if (isUpdate) writeFileSync(file, text)
  expect(text).toBe(read(file))
}

const goldenJson = (file: string, value: unknown): void => {
  const text = JSON.stringify(value, null, 2)
  const parsed = (content: string): unknown => JSON.parse(content || 'null')
  if (isUpdate && !isDeepStrictEqual(parsed(text), parsed(read(file))))
    writeFileSync(file, `${text}\n`)
  expect(parsed(text)).toEqual(parsed(read(file)))
}

const valueAt = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((inner, part) => (inner as Record<string, unknown> | undefined)?.[part], value)

/** A reference to a secret need not look like one. */
const errorsIn = (realm: unknown) =>
  realmErrors(realm).filter(({ field }) => !String(valueAt(realm, field)).startsWith('${'))

const withoutPlaces = (plan: RealmPlan): unknown =>
  JSON.parse(JSON.stringify(plan, (name, value) => (name === 'place' ? null : value)))

describe.each(names)('the plan %s', (name) => {
  const folder = `${root}${name}`
  const one = readCase(folder)
  const realm = one.plan()

  it('is the golden one, as a value and as text', () => {
    goldenJson(`${folder}/plan.json`, realm)
    goldenText(`${folder}/plan.txt`, planText(around(realm), plain))
    if (existsSync(`${folder}/plan.md`))
      goldenText(`${folder}/plan.md`, planMarkdown(around(realm)))
  })

  it('is made of realms that the schema of realm files accepts', () => {
    expect(errorsIn(one.value)).toEqual([])
    if (one.actualValue) expect(errorsIn(one.actualValue)).toEqual([])
  })

  it('does not depend on the order in which entries are read', () => {
    const { desired, listings } = one.files
    const turned = { desired: desired.toReversed(), listings: listings.toReversed() }
    expect(withoutPlaces(one.plan(turned))).toEqual(withoutPlaces(realm))
  })

  it('is the same after it was saved, and makes operations that the server reads', () => {
    expect(parsePlan(serializePlan(around(realm)), 'a.plan')).toEqual(around(realm))
    for (const operation of toOperations(realm, () => 'a value'))
      expect(operationErrors(operation)).toEqual([])
  })
})

describe('the golden plans', () => {
  it('are at least sixty', () => {
    expect(names.length).toBeGreaterThanOrEqual(60)
  })
})
