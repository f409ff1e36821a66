/** Properties of every adoption, on generated files in any style and a generated live realm. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { adopt } from '#cli/adopt/adopt.ts'
import { actualOf } from '#cli/planning/actual.ts'
import { placeKey } from '#cli/planning/names.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { flatten, sectionKinds } from '#schemas/realm/realm-document.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { isLong } from '../../support/run/chance.ts'
import { write } from '../fmt/generated.ts'
import { mended, rawRealm, settled } from '../planning/realms.ts'
import { exportOf, source } from '../plans/case.ts'
import { layersOf, type Roll, withAliases } from './layers.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'iamctl-adopt-laws-')))
/** Beside files of another law, those that are named would be a part of the realm. */
const layered = join(folder, 'layered')
mkdirSync(join(layered, 'overlay'), { recursive: true })
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** With every section, so that every referenced document can be adopted too. */
const whole = (raw: Doc): Doc => {
  const empty = sectionKinds.flatMap(({ section, shape }) =>
    shape === 'singleton' ? [] : [[section, []] as const],
  )
  const realm = { ...Object.fromEntries(empty), ...settled(raw) }
  const places = new Set([
    ...flatten(realm).entries.map(({ kind, key }) => placeKey(kind.kind, key)),
    ...seeds.map(({ kind, key }) => placeKey(kind.kind, key)),
  ])
  return mended(realm, (kind, key) => places.has(placeKey(kind, key)))
}

const rollOf = (stream: Iterable<number>): Roll => {
  const numbers = stream[Symbol.iterator]()
  return (sides) => Number(numbers.next().value) % sides
}

const liveOf = (realm: Doc) => {
  const owners = flatten(realm).entries.map(({ kind, key }) => [`${kind.kind}/${key}`, source])
  return actualOf(exportOf(realm, { owners: Object.fromEntries(owners) }))
}

type Live = ReturnType<typeof liveOf>

const adopted = (text: string, live: Live) => {
  writeFileSync(join(folder, 'realm.yaml'), text)
  return adoptFiles(folder, ['realm.yaml'], [], live)
}

const adoptFiles = (cwd: string, paths: string[], overlays: string[], live: Live) =>
  adopt({
    source,
    prune: 'owned',
    names: [],
    unmanaged: true,
    replaceVariables: false,
    files: {
      paths,
      overlays,
      vars: [],
      varFiles: [],
      cwd,
      config: undefined,
      env: {},
    },
    actualOf: () => live,
  })

/** What has nothing to do with whether the realm makes sense. */
const ofForm = /^(?:yaml|duplicate|missing|unknown|required|type|realm|reference)/

it('makes any file say what is live, and then there is nothing left', async () => {
  const dice = fc.infiniteStream(fc.nat(0xffff))
  await fc.assert(
    fc.asyncProperty(rawRealm, rawRealm, dice, async (first, second, stream) => {
      const realm = whole(first) as Parameters<typeof write>[0]
      const text = write(realm, rollOf(stream))
      const live = liveOf(whole(second))
      const once = await adopted(text, live)
      const shown = `${text}\n=====\n${once.files[0]?.after}`
      expect(
        once.diagnostics.filter(({ code }) => ofForm.test(code)),
        shown,
      ).toEqual([])
      expect(once.problems, shown).toEqual([])
      expect(once.refused, shown).toEqual([])
      const after = once.files[0]?.after ?? text
      expect((await adopted(after, live)).files).toEqual([])
    }),
    { numRuns: isLong ? 500 : 15 },
  )
}, 600_000)

it('leaves nothing for a second time, also where values are repeated and stand in several files', async () => {
  const dice = fc.infiniteStream(fc.nat(0xffff))
  await fc.assert(
    fc.asyncProperty(rawRealm, rawRealm, dice, async (first, second, stream) => {
      const roll = rollOf(stream)
      const layers = layersOf(whole(first), roll)
      const files = Object.entries({
        'base.yaml': layers.base,
        'second.yaml': layers.second,
        'overlay/realm.yaml': layers.overlay,
      }).map(([file, value]) => [file, withAliases(value, roll)] as const)
      for (const [file, text] of files) writeFileSync(join(layered, file), text)
      const live = liveOf(whole(second))
      const adoptAll = () => adoptFiles(layered, ['base.yaml', 'second.yaml'], ['overlay'], live)
      const once = await adoptAll()
      const shown = files.map(([file, text]) => `# ${file}\n${text}`).join('')
      expect(once.problems, shown).toEqual([])
      for (const { path, after } of once.files) writeFileSync(path, after)
      const again = await adoptAll()
      expect(again.files, shown).toEqual([])
      // The reasons, with places in the files as they are now.
      expect(again.refused, shown).toEqual(once.refused)
    }),
    { numRuns: isLong ? 300 : 15 },
  )
}, 600_000)
