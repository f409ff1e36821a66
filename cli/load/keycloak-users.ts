/** Users as a Keycloak export has them, in our own form: their credentials are rewritten as PHC strings. */

import { type Doc, isObject } from '#schemas/json-schema.ts'
import { requiredActions } from '#schemas/kinds/user.ts'

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

export const isKeycloak = (row: Doc): boolean =>
  Array.isArray(row['credentials']) &&
  row['credentials'].some((one) => isObject(one) && 'secretData' in one)

/** As we write users; `miss` is told what has no place here. Throws where its credentials are not as it writes them. */
export const converted = (row: Doc, miss: (field: string) => void): Doc => {
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
