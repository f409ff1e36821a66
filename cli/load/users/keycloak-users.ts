/** Users as a Keycloak export has them, in our own form: their credentials are rewritten as PHC strings. */

import { Secret } from 'otpauth'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { requiredActions } from '#schemas/kinds/users/user.ts'
import { formats } from '#schemas/text/formats.ts'

const taken = ['username', 'email', 'emailVerified', 'firstName', 'lastName', 'enabled'] as const
/** Of Keycloak, and nothing that a person would miss. */
const unimportant = new Set([
  'id',
  'createdTimestamp',
  'totp',
  'notBefore',
  'disableableCredentialTypes',
  'access',
  'self',
  'origin',
])
/** Fields of Keycloak's users that ours do not have: a row with one of them is Keycloak's. */
const telling = [
  'createdTimestamp',
  'disableableCredentialTypes',
  'notBefore',
  'totp',
  'realmRoles',
  'applicationRoles',
  'federatedIdentities',
  'serviceAccountClientId',
] as const
const tellingOfCredentials = ['secretData', 'hashedSaltedValue', 'temporary'] as const
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

const objectsIn = (value: unknown): Doc[] => (Array.isArray(value) ? value.filter(isObject) : [])

const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

/** Undefined for what Keycloak's own hashing did not make. */
const phcOf = (credential: Doc): string | undefined => {
  // Before Keycloak 8 all stood on the credential itself, and the first versions had one algorithm.
  const isOld = 'hashedSaltedValue' in credential
  const { value, salt } = isOld
    ? { value: credential['hashedSaltedValue'], salt: credential['salt'] }
    : inner(credential['secretData'])
  const {
    algorithm = isOld ? 'pbkdf2' : undefined,
    hashIterations,
    additionalParameters,
  } = isOld ? credential : inner(credential['credentialData'])
  const tail = `${unpadded(salt)}$${unpadded(value)}`
  const digest = digests[String(algorithm)]
  if (digest !== undefined) return `$${digest}$i=${hashIterations}$${tail}`
  if (algorithm !== 'argon2') return undefined
  const { type, memory, parallelism } = inner(additionalParameters)
  const cost = `m=${first(memory)},t=${hashIterations},p=${first(parallelism)}`
  return `$argon2${first(type)}$v=19$${cost}$${tail}`
}

/** A password as text. What looks like a hash and is none is a mistake in our own form, and never a password. */
const isPlain = ({ type, value }: Doc): boolean =>
  type === 'password' &&
  typeof value === 'string' &&
  !value.startsWith('$') &&
  formats['password-hash']?.test(value) !== true

export const isKeycloak = (row: Doc): boolean =>
  telling.some((field) => field in row) ||
  isObject(row['clientRoles']) ||
  objectsIn(row['credentials']).some(
    (one) => tellingOfCredentials.some((field) => field in one) || isPlain(one),
  )

/** The service account user of a client: clients have their own credentials here and are never imported as users. */
export const isServiceAccount = (row: Doc): boolean =>
  (row['serviceAccountClientId'] ?? null) !== null ||
  (typeof row['username'] === 'string' && row['username'].startsWith('service-account-'))

/** Of the first password; undefined where there is none that can be taken over. */
const passwordOf = (credentials: readonly Doc[]): Doc | undefined => {
  const password = credentials.find(({ type }) => type === 'password')
  if (password === undefined) return undefined
  if (typeof password['value'] === 'string')
    return { type: 'password', password: password['value'] }
  const value = phcOf(password)
  return value === undefined ? undefined : { type: 'password', value }
}

const appAlgorithms = ['HmacSHA1', 'HmacSHA256', 'HmacSHA512']

/** An authenticator app, by time; undefined for codes by counter, and for algorithms that are not known. */
const appOf = (credential: Doc): Doc | undefined => {
  const { type, userLabel, value, hashedSaltedValue = value } = credential
  // Before Keycloak 8 all stood on the credential itself, the secret under the name of a hash.
  const isOld = type === 'totp'
  if (!isOld && type !== 'otp') return undefined
  const secret = isOld ? hashedSaltedValue : inner(credential['secretData'])['value']
  const {
    algorithm = 'HmacSHA1',
    digits,
    period,
    subType = 'totp',
    secretEncoding,
  } = isOld ? credential : inner(credential['credentialData'])
  if (typeof secret !== 'string' || subType !== 'totp') return undefined
  if (!appAlgorithms.includes(String(algorithm))) return undefined
  return {
    type: 'otp',
    // Keycloak takes the bytes of its text for the key, unless the credential says otherwise.
    secret: secretEncoding === 'BASE32' ? secret : Secret.fromUTF8(secret).base32,
    algorithm,
    digits: digits || 6,
    period: period || 30,
    ...(typeof userLabel === 'string' && userLabel !== '' ? { userLabel } : {}),
  }
}

/** `{ web: [reader] }` as `web/reader`; old exports name it after applications. */
const clientRolesOf = (row: Doc): string[] =>
  [row['clientRoles'], row['applicationRoles']]
    .filter(isObject)
    .flatMap((roles) =>
      Object.entries(roles).flatMap(([client, names]) =>
        textsIn(names).map((name) => `${client}/${name}`),
      ),
    )

const attributesOf = (attributes: Doc): Doc =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      Array.isArray(value) ? value : [value],
    ]),
  )

/** Converts a user; `miss` is called for data that cannot be imported. Throws for malformed credentials. */
export const converted = (row: Doc, miss: (field: string) => void): Doc => {
  const user: Record<string, unknown> = {}
  for (const field of taken) if (row[field] !== undefined) user[field] = row[field]
  if (isObject(row['attributes'])) user['attributes'] = attributesOf(row['attributes'])
  const credentials = objectsIn(row['credentials'])
  const first = credentials.find(({ type }) => type === 'password')
  const lost = new Set<string>()
  const takenOver = credentials.flatMap((credential) => {
    const mine = credential === first ? passwordOf(credentials) : appOf(credential)
    if (mine === undefined) lost.add(String(credential['type']))
    return mine ?? []
  })
  if (takenOver.length > 0) user['credentials'] = takenOver
  for (const type of lost) miss(`credentials (${type})`)
  const actions = textsIn(row['requiredActions'])
  const known = new Set(actions.filter((action) => requiredActions.some((one) => one === action)))
  if (known.size < new Set(actions).size) miss('requiredActions')
  if (credentials.some(({ type, temporary }) => type === 'password' && temporary === true))
    known.add('UPDATE_PASSWORD')
  if (known.size > 0) user['requiredActions'] = [...known]
  const memberships = {
    roles: textsIn(row['realmRoles']),
    clientRoles: clientRolesOf(row),
    groups: textsIn(row['groups']),
  }
  for (const [field, keys] of Object.entries(memberships)) if (keys.length > 0) user[field] = keys
  const kept = new Set<string>([
    ...taken,
    'attributes',
    'requiredActions',
    'credentials',
    'realmRoles',
    'clientRoles',
    'applicationRoles',
    'groups',
  ])
  for (const [field, given] of Object.entries(row))
    if (
      !kept.has(field) &&
      !unimportant.has(field) &&
      !(Array.isArray(given) && given.length === 0)
    )
      miss(field)
  return user
}
