/** --secrets-from: secrets that a rollback cannot give back by itself, from realm files that declare them. */

import type { MissingSecret, RollbackRequest } from '#schemas/wire/wire.ts'
import { hasErrors } from '../diagnostics.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { resolveSecrets, sourceOf } from '../load/secrets/secrets.ts'
import { type FileOptions, loadFiles, type SecretOptions } from '../planning/estate/files.ts'
import { wantedOf } from '../planning/estate/wanted.ts'
import { placeKey } from '../planning/names.ts'

type Secrets = NonNullable<RollbackRequest['secrets']>

/** Those of the missing ones that the files declare; only these are fetched. */
export const secretsFrom = async (
  files: FileOptions,
  realm: string,
  missing: readonly MissingSecret[],
  { env, allowExec }: SecretOptions,
): Promise<Secrets> => {
  const { loaded, estate } = await loadFiles(files)
  const refuse = (message: string, diagnostics: typeof loaded.diagnostics): never => {
    throw new CommandError(exitCodes.invalid, message, {
      hint: 'nothing was changed; name files that hold the realm as it was with --secrets-from',
      diagnostics,
    })
  }
  if (hasErrors(loaded.diagnostics)) refuse('the files cannot be read', loaded.diagnostics)
  const found = loaded.realms.find((one) => one.realm === realm)
  if (!found) return refuse(`the files hold no realm ${realm}`, [])
  const { secrets } = wantedOf(found, (text, pointer) =>
    sourceOf(text, { pointer, file: found.placeOf(pointer)?.file ?? '' }),
  )
  const byDocument = Map.groupBy(secrets, ({ kind, key }) => placeKey(kind, key))
  const asked = missing.flatMap(({ kind, key, pointers }) => {
    const own = byDocument.get(placeKey(kind, key)) ?? []
    return own.find(({ pointer }) => pointers.includes(pointer)) ?? []
  })
  const { values, diagnostics } = await resolveSecrets(
    asked.map(({ source, text, sourcePointer }) => ({
      source,
      text,
      place: found.placeOf(sourcePointer),
    })),
    { env, allowExec, root: estate.root },
  )
  if (hasErrors(diagnostics)) refuse('secrets of the files cannot be resolved', diagnostics)
  return asked.flatMap(({ kind, key, pointer }, i) => {
    const value = values[i]
    return typeof value === 'string' ? [{ kind, key, pointer, value }] : []
  })
}
