/**
 * The subjects that receivers add and remove (RFC 9493 §3.2, SSF 1.0 §8.1.3): a user by `iss_sub`, as the client knows the user, or by
 * `email`, which means the user who has this verified address when an event happens. A row of the stream has the name of a subject;
 * no user is looked up for it, so that an answer tells nothing about users.
 */

import { invalid } from '#schemas/problems.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { emailErrors, foldName } from '#server/users/names.ts'

export const subjectFormats = ['iss_sub', 'email'] as const

export interface SubjectBody {
  readonly format: (typeof subjectFormats)[number]
  readonly iss?: string
  readonly sub?: string
  readonly email?: string
}

const members: Readonly<Record<SubjectBody['format'], readonly ('iss' | 'sub' | 'email')[]>> = {
  iss_sub: ['iss', 'sub'],
  email: ['email'],
}

const mailName = (key: string): string => `mailto:${key}`

const checkMembers = (subject: SubjectBody): void => {
  const named = members[subject.format]
  const errors = (['iss', 'sub', 'email'] as const).flatMap((name) => {
    if (named.includes(name) === (subject[name] !== undefined)) return []
    const [code, message] = named.includes(name)
      ? ['required', 'is required']
      : ['additionalProperties', `does not belong to a subject of the format ${subject.format}`]
    return [{ field: `/subject/${name}`, code, message }]
  })
  if (errors.length > 0) throw invalid(errors)
}

/** The name of the row; throws where the subject has another form, or is of another issuer. */
export const subjectName = ({ url }: Pick<Issuer, 'url'>, subject: SubjectBody): string => {
  checkMembers(subject)
  const { format, iss, sub = '', email = '' } = subject
  if (format === 'email') {
    const errors = emailErrors(email).map((error) => ({ ...error, field: '/subject/email' }))
    if (errors.length > 0) throw invalid(errors)
    return mailName(foldName(email))
  }
  if (iss !== url)
    throw invalid([{ field: '/subject/iss', code: 'const', message: `must be ${url}` }])
  return sub
}

/** The names under which a receiver may have added or removed the user; of a deleted user the subject is left. */
export const namesOf = (
  sub: string,
  user: Pick<UserRow, 'email_key' | 'email_verified'> | undefined,
): readonly string[] => [
  sub,
  ...(user && user.email_key !== null && user.email_verified === 1
    ? [mailName(user.email_key)]
    : []),
]

/** Subjects that could name the user after an erasure, whatever the receivers' subjects are made of now. */
export const personalNamesOf = ({
  username,
  email,
  email_key,
}: Pick<UserRow, 'username' | 'email' | 'email_key'>): readonly string[] => [
  username,
  ...(email === null ? [] : [email]),
  ...(email_key === null ? [] : [mailName(email_key)]),
]
