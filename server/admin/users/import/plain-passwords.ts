/**
 * Passwords that an import gives as text: users keep them, so no policy is asked. They are hashed before anything is
 * written, a few at a time, because the hasher has other work too.
 */

import { type FieldError, invalid } from '#schemas/problems.ts'
import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import { type ImportedUser, maxErrors, type UserImport } from './import-body.ts'
import { credentialErrors, type ImportedCredential, passwordIn } from './import-credentials.ts'

/** Argon2id takes a core for about 10 ms each: more would keep the request waiting for minutes. */
const mostPlain = 2000
const atOnce = 8

const plainOf = (user: ImportedUser): string | undefined => passwordIn(user)?.given.password

/** With a hash in the place of the password; without the password where there is no hash. */
const withHash = (user: ImportedUser, value: string | undefined): ImportedUser => ({
  ...user,
  credentials: (user.credentials ?? []).flatMap((one): readonly ImportedCredential[] =>
    one.type !== 'password' ? [one] : value === undefined ? [] : [{ type: 'password', value }],
  ),
})

/** The same users, with a hash where they had a password; a dry run needs none. */
export const withHashes = async (
  given: UserImport,
  passwords: Pick<Passwords, 'hashOf'>,
): Promise<readonly ImportedUser[]> => {
  const { users, placeOf } = given
  const plain = users.flatMap((user, index) => {
    const password = plainOf(user)
    return password === undefined ? [] : [{ index, password }]
  })
  const unclear: FieldError[] = users.flatMap((user, index) =>
    credentialErrors(user, placeOf(index)),
  )
  if (unclear.length > 0) throw invalid(unclear.slice(0, maxErrors))
  const tooMany: FieldError[] = plain.slice(mostPlain, mostPlain + 1).map(({ index }) => ({
    field: `${placeOf(index)}/credentials`,
    code: 'too-many',
    message: `at most ${mostPlain} passwords can come as text at once; import the users in parts`,
  }))
  if (tooMany.length > 0) throw invalid(tooMany)
  const hashed = [...users]
  for (let start = 0; start < plain.length; start += atOnce)
    await Promise.all(
      plain.slice(start, start + atOnce).map(async ({ index, password }) => {
        const user = users[index] as ImportedUser
        hashed[index] = withHash(user, given.dryRun ? undefined : await passwords.hashOf(password))
      }),
    )
  return hashed
}
