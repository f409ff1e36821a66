/** Names and addresses of users: each could be one, and no two are the same to the server, however they are spelt. */

import { mostManagedUsers, tooManyUsers, User, type UserDoc } from '#schemas/kinds/users/user.ts'
import type { FieldError } from '#schemas/problems.ts'
import { emailErrors, foldName, usernameErrors } from '#schemas/text/names.ts'
import type { Finding } from '../finding.ts'
import type { Declared, Model } from '../model.ts'

interface Name {
  readonly field: 'username' | 'email'
  readonly errors: (text: string) => readonly FieldError[]
  /** Whether the very same text twice is found here; the same key is found when the files are put together. */
  readonly sameText: boolean
}

const names: readonly Name[] = [
  { field: 'username', errors: usernameErrors, sameText: false },
  { field: 'email', errors: emailErrors, sameText: true },
]

const checkField = (users: readonly Declared[], { field, errors, sameText }: Name): Finding[] => {
  const seen = new Map<string, { readonly user: Declared; readonly text: string }>()
  const findings: Finding[] = []
  for (const user of users) {
    const text = (user.doc as Partial<UserDoc>)[field]
    if (typeof text !== 'string') continue
    const pointer = `${user.pointer}/${field}`
    for (const { code, message } of errors(text))
      findings.push({ severity: 'error', code, pointer, message })
    const folded = foldName(text)
    const first = seen.get(folded)
    if (first === undefined) seen.set(folded, { user, text })
    else if (sameText || first.text !== text)
      findings.push({
        severity: 'error',
        code: 'duplicate',
        pointer,
        message: `is that of user "${first.user.key}" already`,
        related: [{ message: 'first here', pointer: `${first.user.pointer}/${field}` }],
      })
  }
  return findings
}

const checkCount = (users: readonly Declared[]): Finding[] => {
  const first = users[mostManagedUsers]
  const message = `these are ${users.length} users: ${tooManyUsers}`
  return first ? [{ severity: 'error', code: 'realm-users', pointer: first.pointer, message }] : []
}

/** `isWrong` says of a pointer whether the schema has found fault with it already. */
export const checkNames = (model: Model, isWrong: (pointer: string) => boolean): Finding[] => {
  const users = model.declared.filter(({ kind }) => kind === User)
  const findings = names
    .flatMap((name) => checkField(users, name))
    .filter(({ code, pointer }) => code === 'duplicate' || !isWrong(pointer))
  return [...checkCount(users), ...findings]
}
