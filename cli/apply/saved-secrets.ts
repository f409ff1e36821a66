/** The secrets of a saved plan, from where it says that each comes: fetched before the first request. */

import { splitSecrets } from '#schemas/walk.ts'
import type { SecretPlace } from '#schemas/wire/wire.ts'
import { hasErrors } from '../diagnostics.ts'
import { CommandError, exitCodes } from '../exit.ts'
import type { Estate } from '../load/estate.ts'
import { loadRealms } from '../load/load.ts'
import type { LoadedRealm, SecretSource } from '../load/loaded.ts'
import { resolveSecrets } from '../load/secrets/secrets.ts'
import type { SecretOf } from '../planning/changeset.ts'
import { secretsAtHand } from '../planning/estate/secrets-at-hand.ts'
import type { Plan } from '../planning/plan.ts'
import { uncompared } from '../planning/warnings/unknown-secrets.ts'

export interface SavedSecretOptions {
  readonly cwd: string
  readonly estate: Estate
  readonly env: Readonly<Record<string, string | undefined>>
  readonly allowExec: boolean
}

interface Asked extends SecretPlace {
  readonly realm: string
  readonly source: SecretSource
}

/** What a file says literally is read there again. */
const literalIn = (realms: readonly LoadedRealm[], asked: Asked): string | undefined => {
  if (asked.source.from !== 'literal') return undefined
  const loaded = realms.find(({ realm }) => realm === asked.realm)
  const entry = loaded?.flat.entries.find(
    ({ kind, key }) => kind.kind === asked.kind && key === asked.key,
  )
  return entry && splitSecrets(entry.kind, entry.value).secrets[asked.pointer]
}

export const savedSecrets = async (
  { realms }: Plan,
  { cwd, estate, env, allowExec }: SavedSecretOptions,
): Promise<SecretOf> => {
  const asked: Asked[] = realms.flatMap((plan) => [
    ...plan.changes.flatMap(({ kind, key, secrets }) =>
      secrets.map(({ pointer, source }) => ({ realm: plan.realm, kind, key, pointer, source })),
    ),
    ...uncompared(plan).map((secret) => ({ realm: plan.realm, ...secret })),
  ])
  const files = asked.flatMap(({ source }) => (source.from === 'literal' ? [source.file] : []))
  const loaded =
    files.length === 0
      ? []
      : (await loadRealms({ paths: [...new Set(files)], cwd, estate, env })).realms
  const { values, diagnostics } = await resolveSecrets(
    asked.map((secret) => {
      const text = literalIn(loaded, secret)
      return { source: secret.source, ...(text === undefined ? {} : { text }) }
    }),
    { env, root: estate.root, allowExec },
  )
  if (hasErrors(diagnostics))
    throw new CommandError(exitCodes.invalid, 'secrets of the plan cannot be resolved', {
      hint: 'set the named variables and files as they were for the plan, or plan again',
      diagnostics,
    })
  return secretsAtHand(asked.map((place, i) => ({ realm: place.realm, place, value: values[i] })))
}
