/**
 * Secrets that a rollback cannot give back by itself: those that would be sent to another place than the one they were
 * given for, and credentials of users, which went with them. The caller can give them; what is not given is named.
 */

import type { Kind } from '#schemas/kind.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { type FieldError, invalid } from '#schemas/problems.ts'
import { kinds } from '#schemas/registry.ts'
import { movedSecretError, movedSecrets } from '#schemas/rules/sent-secrets.ts'
import { secretFields } from '#schemas/walk.ts'
import type { MissingSecret, RollbackRequest } from '#schemas/wire/wire.ts'
import { secretChecks } from '../changesets/changeset-operations.ts'
import type { ConfigDocument } from '../read/configuration.ts'
import { placeOf } from '../write/operations.ts'

type Given = ReadonlyMap<string, Readonly<Record<string, string>>>

/** The kinds that the secrets of a request are for; names that are no kind are refused by `givenSecrets`. */
export const kindsOfSecrets = (secrets: RollbackRequest['secrets'] = []): Kind[] => {
  const named = new Set(secrets.map(({ kind }) => kind))
  return kinds.filter(({ kind }) => named.has(kind))
}

/** The secrets of a request by the document that each is for. */
export const givenSecrets = (
  secrets: NonNullable<RollbackRequest['secrets']>,
  isPut: (place: string) => boolean,
): Given => {
  const given = new Map<string, Record<string, string>>()
  const errors = secrets.flatMap(({ kind, key, pointer, value }, i): FieldError[] => {
    const at = `/secrets/${i}`
    const place = placeOf(kind, key)
    if (!isPut(place))
      return [
        {
          field: at,
          code: 'unknown-document',
          message: `the rollback does not write ${kind} "${key}"`,
        },
      ]
    const check = secretChecks(kind)?.get(pointer)
    if (!check)
      return [
        { field: `${at}/pointer`, code: 'unknown-field', message: 'is no secret of this kind' },
      ]
    given.set(place, { ...given.get(place), [pointer]: value })
    return check(value).map((error) => ({ ...error, field: `${at}/value` }))
  })
  if (errors.length > 0) throw invalid(errors)
  return given
}

/** What a document that is given back lacks, unless the caller gives it. */
export const missingOf = (
  kind: Kind,
  then: ConfigDocument,
  live: ConfigDocument | undefined,
  given: Readonly<Record<string, string>>,
): MissingSecret[] => {
  const place = { kind: kind.kind, key: then.key }
  if (!live) {
    if (kind !== User) return []
    const pointers = secretFields(kind).map(({ pointer }) => pointer)
    return pointers.some((pointer) => pointer in given)
      ? []
      : [{ ...place, pointers, reason: 'not-kept' }]
  }
  return movedSecrets(kind, live.body, then.body)
    .filter(({ pointer }) => pointer in live.secrets && !(pointer in given))
    .map(({ pointer }) => ({ ...place, pointers: [pointer], reason: 'moved' }))
}

/** Without a word to the contrary, a secret that cannot go along refuses the rollback, as it refuses any write. */
export const movedErrors = (missing: readonly MissingSecret[]): FieldError[] =>
  missing
    .filter(({ reason }) => reason === 'moved')
    .map(({ kind, key, pointers: [pointer = ''] }) => {
      const { code } = movedSecretError({ pointer, because: '' })
      return {
        field: `/${kind}/${key}${pointer}`,
        code,
        message:
          'give it again in `secrets`: it would be sent to another place; or let it go with `dropSecrets`',
      }
    })
