/**
 * Live values -> the files: round by round, until nothing differs that was to be taken over. Before anything is saved the
 * changed files are planned again: what was taken over must plan to nothing, and nothing else may plan otherwise.
 */

import type { Place } from '#schemas/wire/wire.ts'
import { type Diagnostic, hasErrors, type Place as SourcePlace } from '../diagnostics.ts'
import type { LoadedRealm } from '../load/loaded.ts'
import type { Source } from '../load/yaml/source.ts'
import type { Actual } from '../planning/actual.ts'
import { type FileOptions, loadFiles, type ReadFiles } from '../planning/estate/files.ts'
import { placeKey } from '../planning/names.ts'
import type { Prune } from '../planning/plan.ts'
import { createValidator } from '../validate/validate.ts'
import { changeKey, changesOf, isSameChange, slipsOf } from './check.ts'
import {
  type AdoptScope,
  type Difference,
  differencesIn,
  type Found,
  filesOf,
  keyOfDifference,
} from './differences.ts'
import { locate } from './locate.ts'
import { type Refusal, runRound } from './round.ts'
import type { DocumentSyntax } from './text/syntax.ts'

export interface AdoptOptions extends AdoptScope {
  readonly files: FileOptions
  readonly prune: Prune
  readonly replaceVariables: boolean
  /** The realm as it is. */
  readonly actualOf: (realm: string) => Actual | undefined
}

export interface Adopted extends Place {
  readonly realm: string
  /** What was done to the files. */
  readonly action: 'changed' | 'removed' | 'added'
}

export interface NotAdopted extends Place {
  readonly realm: string
  /** Null: the whole document. */
  readonly field: string | null
  readonly message: string
  readonly place: SourcePlace | null
}

export interface ChangedFile {
  readonly file: string
  readonly path: string
  readonly before: string
  readonly after: string
}

export interface AdoptOutcome {
  readonly adopted: readonly Adopted[]
  readonly refused: readonly NotAdopted[]
  readonly unmanaged: readonly (Place & { readonly realm: string })[]
  /** Names that no realm and no file has. */
  readonly unknown: readonly Place[]
  readonly files: readonly ChangedFile[]
  /** Why nothing may be saved. */
  readonly problems: readonly string[]
  /** Of the changed files. */
  readonly diagnostics: readonly Diagnostic[]
  textOf(file: string): string | undefined
}

/** More rounds would mean that an edit has no effect. */
const mostRounds = 60

const actions = { changed: 'changed', gone: 'removed', live: 'added' } as const

interface Realm {
  readonly loaded: LoadedRealm
  readonly actual: Actual
  readonly found: Found
}

interface Pass extends Pick<ReadFiles, 'estate' | 'loaded'> {
  readonly realms: readonly Realm[]
}

const idOf = (realm: string, difference: Difference): string => {
  const { kind, key } = keyOfDifference(difference)
  return changeKey(realm, kind, key)
}

/** What the rounds have come to, by realm and document. */
const createState = () => {
  const adopted = new Map<string, Adopted>()
  const refused = new Map<string, NotAdopted>()
  const refusalKey = (realm: string, difference: Difference, field: string | null): string =>
    `${idOf(realm, difference)}\n${field ?? ''}`
  return {
    adopted,
    refused,
    /** A round may have made possible what was refused before it, such as a change of a value that was repeated elsewhere. */
    tryAgain: () => refused.clear(),
    refuse(realm: string, { difference, ...refusal }: Refusal): void {
      const place = keyOfDifference(difference)
      refused.set(refusalKey(realm, difference, refusal.field), { realm, ...place, ...refusal })
    },
    /** As it was first met. */
    meet(realm: string, difference: Difference): void {
      const id = idOf(realm, difference)
      const action = actions[difference.type]
      if (!adopted.has(id)) adopted.set(id, { realm, ...keyOfDifference(difference), action })
    },
    addedIn: (realm: string): Set<string> =>
      new Set(
        [...adopted.values()].flatMap((one) =>
          one.realm === realm && one.action === 'added' ? [placeKey(one.kind, one.key)] : [],
        ),
      ),
  }
}

export const adopt = async (options: AdoptOptions): Promise<AdoptOutcome> => {
  const { actualOf, files, replaceVariables } = options
  const state = createState()
  const texts = new Map<string, string>()
  const originals = new Map<string, Source>()

  const pass = async (): Promise<Pass> => {
    const { estate, loaded: all } = await loadFiles({ ...files, texts })
    const realms = all.realms.flatMap((loaded): Realm[] => {
      const actual = actualOf(loaded.realm)
      if (!actual) return []
      const added = state.addedIn(loaded.realm)
      return [{ loaded, actual, found: differencesIn(filesOf(loaded), actual, options, added) }]
    })
    return { estate, loaded: all, realms }
  }

  /** Whether it changed anything. */
  const round = async ({ estate, realms }: Pass): Promise<boolean> => {
    const syntaxes = new Map<Source, DocumentSyntax[]>()
    const changed = new Map<string, string>()
    state.tryAgain()
    for (const { loaded, found } of realms) {
      const { realm } = loaded
      const located = await locate(loaded, { cwd: files.cwd, root: estate.root }, syntaxes)
      const result = runRound(located, found.differences, { replaceVariables })
      for (const refusal of result.refusals) state.refuse(realm, refusal)
      for (const difference of found.differences) state.meet(realm, difference)
      // Two realms may share a file: the second one waits for the next round.
      for (const [path, text] of result.texts) if (!changed.has(path)) changed.set(path, text)
    }
    for (const source of syntaxes.keys())
      if (source.path !== null && changed.has(source.path) && !originals.has(source.path))
        originals.set(source.path, source)
    for (const [path, text] of changed) texts.set(path, text)
    return changed.size > 0
  }

  const first = await pass()
  let last = first
  for (let count = 0; count < mostRounds; count += 1) {
    if (hasErrors(last.loaded.diagnostics) || !(await round(last))) break
    last = await pass()
  }

  const [before, after] = [changesOf(first.realms, options), changesOf(last.realms, options)]
  const refused = [...state.refused.values()]
  const refusedIds = new Set(refused.map(({ realm, kind, key }) => changeKey(realm, kind, key)))
  const isMoved = (id: string): boolean => !isSameChange(before.get(id), after.get(id))
  const adopted = new Map([...state.adopted].filter(([id]) => !refusedIds.has(id) || isMoved(id)))
  const expected = { adopted: new Set(adopted.keys()), refused: refusedIds }
  return {
    adopted: [...adopted.values()],
    refused,
    unmanaged: first.realms.flatMap(({ loaded, found }) =>
      found.unmanaged.map((place) => ({ realm: loaded.realm, ...place })),
    ),
    unknown: options.names.filter((name) =>
      first.realms.every(({ found }) => found.unknown.includes(name)),
    ),
    files: [...originals].map(([path, { file, text }]) => ({
      file,
      path,
      before: text,
      after: texts.get(path) ?? text,
    })),
    problems: slipsOf(before, after, expected),
    diagnostics: texts.size > 0 ? createValidator().validate(last.loaded) : [],
    textOf: last.loaded.textOf,
  }
}
