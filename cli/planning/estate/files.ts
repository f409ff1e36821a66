/** Reads and checks the files of a person: every command that works on them begins here. */

import { byPlace, type Diagnostic, hasErrors } from '../../diagnostics.ts'
import { type Estate, findEstate, namedEstate } from '../../load/estate.ts'
import { loadRealms } from '../../load/load.ts'
import type { Loaded } from '../../load/loaded.ts'
import { resolveSecrets, sourceOf } from '../../load/secrets/secrets.ts'
import { createValidator } from '../../validate/validate.ts'
import type { SecretOf } from '../changeset.ts'
import { secretsAtHand } from './secrets-at-hand.ts'
import { type Wanted, wantedOf } from './wanted.ts'

export interface FileOptions {
  readonly paths: readonly string[]
  readonly overlays: readonly string[]
  readonly vars: readonly string[]
  readonly varFiles: readonly string[]
  readonly cwd: string
  /** Another file than the nearest iamctl.yaml. */
  readonly config: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Texts that files shall have, by absolute path, instead of what they hold. */
  readonly texts?: ReadonlyMap<string, string>
  /** A server checks what comes of them: it knows the documents that other estates declare. */
  readonly serverChecks?: boolean
}

export interface ReadFiles {
  readonly estate: Estate
  readonly loaded: Loaded
  /** Everything there is to say about them, errors too. */
  readonly diagnostics: readonly Diagnostic[]
}

/** The estate that the files belong to. */
export const estateOf = async (options: FileOptions): Promise<Estate> => {
  const { cwd, config } = options
  const { file } = await namedEstate(options)
  return (await findEstate({ cwd, config: file ?? config })).estate
}

/** As they can be read; nothing else is checked. */
export const loadFiles = async (
  options: FileOptions,
): Promise<Pick<ReadFiles, 'estate' | 'loaded'>> => {
  const { cwd, config, env, overlays, vars, varFiles } = options
  const named = await namedEstate(options)
  const found = await findEstate({ cwd, config: named.file ?? config })
  const loaded = await loadRealms({
    paths: named.isWhole ? [] : options.paths,
    overlays,
    vars,
    varFiles,
    cwd,
    estate: found.estate,
    env,
    stdin: process.stdin,
    texts: options.texts,
  })
  return {
    estate: found.estate,
    loaded: {
      ...loaded,
      diagnostics: [
        // Offline, paths of several may be checked together.
        ...(options.serverChecks === true ? named.diagnostics : []),
        ...found.diagnostics,
        ...loaded.diagnostics,
      ],
      textOf: (file) => loaded.textOf(file) ?? found.textOf(file),
    },
  }
}

export const readFiles = async (options: FileOptions): Promise<ReadFiles> => {
  const { estate, loaded } = await loadFiles(options)
  const isShared = (realm: string): boolean =>
    options.serverChecks === true || estate.sharedRealms?.includes(realm) === true
  return { estate, loaded, diagnostics: createValidator({ isShared }).validate(loaded) }
}

export interface SecretOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly allowExec: boolean
}

export interface WantedRealms {
  readonly wanted: readonly Wanted[]
  readonly secretOf: SecretOf
  readonly diagnostics: readonly Diagnostic[]
}

/** What the files ask for, with every secret at hand: all are fetched before the first request. */
export const wantedRealms = async (
  { loaded, estate, diagnostics }: ReadFiles,
  { env, allowExec }: SecretOptions,
): Promise<WantedRealms> => {
  if (hasErrors(diagnostics)) return { wanted: [], secretOf: secretsAtHand([]), diagnostics: [] }
  const wanted = loaded.realms.map((realm) =>
    wantedOf(realm, (text, pointer) =>
      sourceOf(text, {
        pointer,
        // Of thousands of users with a hash, only what is saved or wrong is looked up.
        get file() {
          return realm.placeOf(pointer)?.file ?? ''
        },
      }),
    ),
  )
  const asked = wanted.flatMap(({ loaded: realm, secrets }) =>
    secrets.map((secret) => ({ realm, secret })),
  )
  const resolved = await resolveSecrets(
    asked.map(({ realm, secret: { source, text, sourcePointer } }) => ({
      source,
      text,
      get place() {
        return realm.placeOf(sourcePointer)
      },
    })),
    { env, allowExec, root: estate.root },
  )
  const unset = new Set(asked.flatMap(({ secret }, i) => (resolved.isUnset[i] ? [secret] : [])))
  const marked = ({ secrets, ...rest }: Wanted): Wanted => ({
    ...rest,
    secrets: secrets.map((secret) => (unset.has(secret) ? { ...secret, isUnknown: true } : secret)),
  })
  return {
    wanted: unset.size === 0 ? wanted : wanted.map(marked),
    secretOf: secretsAtHand(
      asked.map(({ realm: { realm }, secret }, i) => ({
        realm,
        place: secret,
        value: resolved.values[i],
      })),
    ),
    diagnostics: resolved.diagnostics.toSorted(byPlace),
  }
}
