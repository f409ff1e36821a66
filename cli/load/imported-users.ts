/**
 * Users from a file to be imported: our own rows, as lines or as JSON, or those of a Keycloak export, whose credentials are
 * rewritten as PHC strings. What has no place here is counted, so that nobody thinks it came along.
 */

import { type Doc, isObject } from '#schemas/json-schema.ts'
import { requiredActions } from '#schemas/kinds/user.ts'
import { CommandError, exitCodes } from '../exit.ts'

export interface ImportedUsers {
  readonly users: readonly Doc[]
  /** How many users lose what, by the name of the field. */
  readonly leftOut: ReadonlyMap<string, number>
}

const taken = ['username', 'email', 'emailVerified', 'firstName', 'lastName', 'enabled'] as const
/** Of Keycloak, and nothing that a person would miss. */
const unimportant = new Set([
  'id',
  'createdTimestamp',
  'totp',
  'notBefore',
  'disableableCredentialTypes',
  'access',
])
const digests: Readonly<Record<string, string>> = {
  pbkdf2: 'pbkdf2-sha1',
  'pbkdf2-sha256': 'pbkdf2-sha256',
  'pbkdf2-sha512': 'pbkdf2-sha512',
}

const unpadded = (base64: unknown): string => String(base64).replace(/=+$/, '')

const inner = (text: unknown): Doc => {
  const value: unknown = typeof text === 'string' ? JSON.parse(text) : text
  return isObject(value) ? value : {}
}

const first = (value: unknown): string => String(Array.isArray(value) ? value[0] : value)

/** Undefined for what Keycloak's own hashing did not make. */
const phcOf = (credential: Doc): string | undefined => {
  const { value, salt } = inner(credential['secretData'])
  const { algorithm, hashIterations, additionalParameters } = inner(credential['credentialData'])
  const tail = `${unpadded(salt)}$${unpadded(value)}`
  const digest = digests[String(algorithm)]
  if (digest !== undefined) return `$${digest}$i=${hashIterations}$${tail}`
  if (algorithm !== 'argon2') return undefined
  const { type, memory, parallelism } = inner(additionalParameters)
  const cost = `m=${first(memory)},t=${hashIterations},p=${first(parallelism)}`
  return `$argon2${first(type)}$v=19$${cost}$${tail}`
}

const isKeycloak = (row: Doc): boolean =>
  Array.isArray(row['credentials']) &&
  row['credentials'].some((one) => isObject(one) && 'secretData' in one)

const converted = (row: Doc, miss: (field: string) => void): Doc => {
  const user: Record<string, unknown> = {}
  for (const field of taken) if (row[field] !== undefined) user[field] = row[field]
  if (isObject(row['attributes'])) user['attributes'] = row['attributes']
  const actions = Array.isArray(row['requiredActions']) ? row['requiredActions'] : []
  const known = actions.filter((action) => requiredActions.includes(action))
  if (known.length > 0) user['requiredActions'] = known
  if (known.length < actions.length) miss('requiredActions')
  const credentials = Array.isArray(row['credentials']) ? row['credentials'].filter(isObject) : []
  const password = credentials.find(({ type }) => type === 'password')
  const value = password && phcOf(password)
  if (value !== undefined) user['credentials'] = [{ type: 'password', value }]
  if (credentials.length > (value === undefined ? 0 : 1)) miss('credentials')
  const kept = new Set<string>([...taken, 'attributes', 'requiredActions', 'credentials'])
  for (const [field, given] of Object.entries(row))
    if (
      !kept.has(field) &&
      !unimportant.has(field) &&
      !(Array.isArray(given) && given.length === 0)
    )
      miss(field)
  return user
}

const unreadable = (file: string, where: string, cause?: unknown): CommandError =>
  new CommandError(exitCodes.invalid, `${file} cannot be read${where}`, {
    hint: 'it holds a user as JSON on each line, a list of users, or an export of Keycloak',
    cause,
  })

/** A whole JSON text, or nothing where it is lines of it. */
const wholeOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const linesOf = (file: string, text: string): unknown[] =>
  text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    try {
      return [JSON.parse(line)]
    } catch (error) {
      throw unreadable(file, `: line ${index + 1} is not JSON`, error)
    }
  })

const rowsOf = (file: string, text: string): unknown[] => {
  const whole = wholeOf(text)
  if (Array.isArray(whole)) return whole
  if (isObject(whole) && Array.isArray(whole['users'])) return whole['users']
  return whole === undefined ? linesOf(file, text) : [whole]
}

export const importedUsers = (file: string, text: string): ImportedUsers => {
  const leftOut = new Map<string, number>()
  const miss = (field: string): void => {
    leftOut.set(field, (leftOut.get(field) ?? 0) + 1)
  }
  const rows = rowsOf(file, text)
  const isForeign = rows.some((row) => isObject(row) && isKeycloak(row))
  const users = rows.map((row, index) => {
    if (!isObject(row)) throw unreadable(file, `: user ${index + 1} is no object`)
    try {
      return isForeign ? converted(row, miss) : row
    } catch (error) {
      throw unreadable(
        file,
        `: the credentials of user ${index + 1} are not as Keycloak writes them`,
        error,
      )
    }
  })
  return { users, leftOut }
}
