/**
 * The body of a bulk import of users: one JSON object, or a user on each line, which is read as it came from the spool and
 * checked line by line. What is wrong is named by its place, the first hundred of it.
 */

import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import type { UserFields } from '#schemas/wire/records.ts'
import { parseJsonBytes } from '#server/http/json.ts'
import { linesOf } from '#server/http/lines.ts'
import { createPace } from '#server/platform/pace.ts'
import { type Spool, spool } from '#server/platform/spool.ts'
import { textErrors } from '#server/storage/values.ts'
import { type ActionContext, asChecked, bodyOf } from '../../action.ts'
import { userFields } from '../users.ts'
import { type ImportedCredential, importedCredentials } from './import-credentials.ts'

export const importTypes = ['application/json', 'application/x-ndjson'] as const

const policies = ['FAIL', 'SKIP', 'OVERWRITE'] as const
const maxUsers = 100_000
export const bodyLimit = 64 * 1024 * 1024
const lineLimit = 256 * 1024
/** Most errors to report. */
export const maxErrors = 100

export type ImportedUser = Partial<UserFields> &
  Pick<UserFields, 'username'> & {
    readonly credentials?: readonly ImportedCredential[]
    /** Keys of documents; unknown ones are reported and not assigned. */
    readonly roles?: readonly string[]
    readonly clientRoles?: readonly string[]
    readonly groups?: readonly string[]
  }

export interface UserImport {
  readonly ifResourceExists: (typeof policies)[number]
  readonly dryRun: boolean
  readonly users: readonly ImportedUser[]
  /** Names the user at the index in errors. */
  readonly placeOf: (index: number) => string
}

const keys = (description: string) => ({
  type: 'array' as const,
  maxItems: 1000,
  items: { type: 'string' as const, minLength: 1, maxLength: 1024 },
  description,
})

const importedUser = bodyOf(
  {
    ...userFields,
    credentials: importedCredentials,
    roles: keys('Names of realm roles; unknown ones are reported as missing.'),
    clientRoles: keys('Client roles as client/role; unknown ones are reported as missing.'),
    groups: keys('Paths of groups; unknown ones are reported as missing.'),
  },
  ['username'],
)

const policy = { type: 'string', enum: policies } as const

export const importBody = bodyOf(
  {
    ifResourceExists: { ...policy, default: 'FAIL' },
    users: { type: 'array', minItems: 1, maxItems: maxUsers, items: importedUser },
  },
  ['users'],
)

export const importQuery = bodyOf(
  {
    ifResourceExists: { ...policy, description: 'Where the users come as lines.' },
    dryRun: {
      type: 'boolean',
      default: false,
      description: 'Shows the result and changes nothing.',
    },
  },
  [],
)

const ajv = createAjv()
const checkBody = lazyValidator(ajv, importBody)
const checkUser = lazyValidator(ajv, importedUser)

const userIn = (bytes: Buffer, place: string, errors: FieldError[]): ImportedUser | undefined => {
  try {
    const value = parseJsonBytes(bytes)
    const found = [...checkUser(value), ...textErrors(value)]
    errors.push(...found.map((error) => ({ ...error, field: `${place}${error.field}` })))
    return found.length === 0 ? (value as ImportedUser) : undefined
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    errors.push({ field: place, code: 'json', message: error.message })
    return undefined
  }
}

const readLines = async (body: Spool): Promise<Pick<UserImport, 'users' | 'placeOf'>> => {
  const users: ImportedUser[] = []
  const numbers: number[] = []
  const errors: FieldError[] = []
  const pace = createPace()
  const placeOf = (index: number): string => `/line/${numbers[index]}`
  for await (const { number, bytes } of linesOf(body.chunks(), lineLimit)) {
    if (numbers.push(number) > maxUsers)
      throw new Problem('too-large', `More than ${maxUsers} users cannot be imported at once.`)
    const user = userIn(bytes, placeOf(numbers.length - 1), errors)
    if (user) users.push(user)
    if (errors.length >= maxErrors) break
    if (pace.over()) await pace.rest()
  }
  if (errors.length > 0) throw invalid(errors.slice(0, maxErrors))
  if (users.length === 0) throw new Problem('bad-request', 'The body is empty.')
  return { users, placeOf }
}

const readObject = async (body: Spool): Promise<Omit<UserImport, 'dryRun'>> => {
  const value = parseJsonBytes(await buffer(body.chunks()))
  if (value === undefined) throw new Problem('bad-request', 'The body is empty.')
  const errors = [...checkBody(value), ...textErrors(value)]
  if (errors.length > 0) throw invalid(errors.slice(0, maxErrors))
  const { ifResourceExists, users } = value as Pick<UserImport, 'ifResourceExists' | 'users'>
  return { ifResourceExists, users, placeOf: (index) => `/users/${index}` }
}

export const readImport = async ({ request, query }: ActionContext): Promise<UserImport> => {
  if (!(request.body instanceof Readable)) throw new Problem('bad-request', 'The body is empty.')
  const body = await spool(request.body, { limit: bodyLimit })
  const { ifResourceExists = 'FAIL', dryRun } = asChecked<UserImport>(query)
  try {
    const isLines = request.headers['content-type']?.startsWith('application/x-ndjson')
    const read = isLines ? await readLines(body) : await readObject(body)
    return { ifResourceExists, dryRun, ...read }
  } finally {
    await body.close()
  }
}
