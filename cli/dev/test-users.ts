/** The test users of the files, and the variables that the files take from the environment. */

import { isObject } from '#schemas/json-schema.ts'
import type { Loaded, LoadedRealm } from '../load/loaded.ts'
import { parseTemplate } from '../load/variables/template.ts'
import type { TestUser } from './happenings.ts'

const eachText = (value: unknown, visit: (text: string) => void): void => {
  if (typeof value === 'string') visit(value)
  else if (Array.isArray(value)) for (const item of value) eachText(item, visit)
  else if (isObject(value)) for (const inner of Object.values(value)) eachText(inner, visit)
}

/** Every NAME of `${env:NAME}`. */
export const environmentNames = ({ realms }: Loaded): ReadonlySet<string> => {
  const names = new Set<string>()
  for (const { value } of realms)
    eachText(value, (text) => {
      for (const part of parseTemplate(text)) if (part.type === 'env') names.add(part.argument)
    })
  return names
}

type MadeUp = (name: string) => string | undefined

/** What is not shown: a value of the real environment, of a file, or of a command. */
const passwordOf = (text: string, madeUp: MadeUp): Pick<TestUser, 'password' | 'from'> => {
  let password = ''
  for (const part of parseTemplate(text)) {
    const value =
      part.type === 'text' ? part.text : part.type === 'env' ? madeUp(part.argument) : undefined
    if (value === undefined) {
      const from = 'written' in part ? part.written : null
      return { password: null, from }
    }
    password += value
  }
  return { password, from: null }
}

const usersOf = ({ realm, value }: LoadedRealm, madeUp: MadeUp): TestUser[] => {
  const users: unknown = value['users']
  return (Array.isArray(users) ? users : []).flatMap((user) => {
    if (!isObject(user)) return []
    const { username, initialPassword } = user
    if (typeof username !== 'string' || typeof initialPassword !== 'string') return []
    return [{ realm, username, ...passwordOf(initialPassword, madeUp) }]
  })
}

/** `madeUp` contains generated values only. */
export const testUsers = ({ realms }: Loaded, madeUp: MadeUp): TestUser[] =>
  realms.flatMap((realm) => usersOf(realm, madeUp))
