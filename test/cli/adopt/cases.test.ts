/** Every case of `adopt` in this process: UPDATE=1 writes what comes out into the cases. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, describe, expect, it } from 'vitest'
import { type AdoptOutcome, adopt } from '#cli/adopt/adopt.ts'
import { actualOf } from '#cli/planning/actual.ts'
import { parseTarget } from '#cli/planning/target.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import { exportOf, source } from '../plans/case.ts'
import { bytesOf, type Case, cases, saveCases } from './case.ts'

const unescaped = (text: string): string => text.replaceAll('$${', '${')

/** What the server would answer. */
const liveRealms = ({ live }: Case) =>
  new Map(
    loadAll(unescaped(live)).map((value) => {
      const realm = value as Doc
      const { entries } = flatten(realm)
      const shielded = entries.filter((entry) => entry.protected)
      // The server makes one up for a client that needs it.
      const secrets = entries.filter(
        ({ kind, value: entry }) =>
          'secret' in entry || (kind.kind === 'client' && entry['publicClient'] !== true),
      )
      const name = ({ kind, key }: (typeof entries)[number]) => `${kind.kind}/${key}`
      const exported = exportOf(realm, {
        protected: shielded.map(name),
        secrets: Object.fromEntries(secrets.map((entry) => [name(entry), ['/secret']])),
        owners: Object.fromEntries(entries.map((entry) => [name(entry), source])),
      })
      return [String(realm['realm']), actualOf(exported)]
    }),
  )

/** `name:client/web` names a document on the command line. */
const namesOf = ({ options }: Case) =>
  [...options].flatMap((option) =>
    option.startsWith('name:') ? (parseTarget(option.slice('name:'.length)) ?? []) : [],
  )

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const run = async (one: Case, files = one.files): Promise<AdoptOutcome> => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'iamctl-adopt-')))
  folders.push(folder)
  for (const [file, text] of files) {
    const path = join(folder, file.startsWith('over') ? file : join('realms', file))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytesOf(one, file, text))
  }
  const overlays = ['over1', 'over2'].filter((name) =>
    [...files.keys()].some((file) => file.startsWith(name)),
  )
  writeFileSync(
    join(folder, 'iamctl.yaml'),
    JSON.stringify({ source, paths: ['realms'], ...(overlays.length > 0 ? { overlays } : {}) }),
  )
  const live = liveRealms(one)
  return adopt({
    source,
    prune: 'owned',
    names: namesOf(one),
    unmanaged: false,
    replaceVariables: one.options.has('replace-variables'),
    files: {
      paths: [],
      overlays: [],
      vars: [],
      varFiles: [],
      cwd: folder,
      config: undefined,
      env: {},
    },
    actualOf: (realm) => live.get(realm),
  })
}

const told = ({ refused }: AdoptOutcome): string[] =>
  refused.map(
    ({ kind, key, field, message, place }) =>
      `${[`${kind}/${key}`, field].filter((part) => part !== null).join(' ')}: ${message}` +
      (place === null ? '' : ` (${place.file}:${place.line}:${place.column})`),
  )

const plainName = (file: string): string => file.replace(/^realms\//, '')

const updated = new Map<string, Case>()
afterAll(() => {
  if (process.env['UPDATE'] === '1') saveCases(updated)
})

describe.each(cases.map((one) => [one.name, one] as const))('adopt %s', (_, one) => {
  it('changes the files so, and then there is nothing left to adopt', async () => {
    const outcome = await run(one)
    expect(outcome.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(outcome.problems).toEqual([])
    const after = new Map(outcome.files.map(({ file, after: text }) => [plainName(file), text]))
    const plain = new Map(
      [...after].map(([file, text]) => [
        file,
        one.options.has('crlf') ? text.replaceAll('\r\n', '\n') : text,
      ]),
    )
    const shown = one.options.has('no-final-break')
      ? new Map([...plain].map(([file, text]) => [file, `${text}\n`]))
      : plain
    if (process.env['UPDATE'] === '1') {
      updated.set(one.name, { ...one, after: shown, refused: told(outcome) })
      return
    }
    expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(one.after))
    expect(told(outcome)).toEqual(one.refused)
    if (one.options.has('crlf'))
      for (const text of after.values()) expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)

    const again = await run(one, new Map([...one.files, ...one.after]))
    expect(again.files).toEqual([])
    expect(told(again).length).toBe(one.refused.length)
  })
})

describe('the cases', () => {
  it('are more than forty', () => {
    expect(cases.length).toBeGreaterThan(40)
  })
})
