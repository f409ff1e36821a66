/**
 * The credentials of an imported user: a password, as a hash or as text, and authenticator apps (RFC 6238), which go on
 * working. An app keeps the parameters that it was set up with; those that the file leaves out are the realm's.
 */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { type FieldError, invalid } from '#schemas/problems.ts'
import {
  credentialContext,
  credentialsOf,
  deleteCredentials,
  insertCredentials,
} from '#server/credentials/credentials.ts'
import { type OtpParameters, otpParameters } from '#server/credentials/factors/otp.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import { bodyOf } from '../../action.ts'
import type { CredentialParts } from '../../credentials/credential-type.ts'

export interface ImportedPassword {
  readonly type: 'password'
  /** A hash that was made elsewhere. */
  readonly value?: string
  /** Or the password itself. */
  readonly password?: string
}

export interface ImportedApp {
  readonly type: 'otp'
  readonly secret: string
  readonly algorithm?: SettingsDoc['otpPolicyAlgorithm']
  readonly digits?: SettingsDoc['otpPolicyDigits']
  readonly period?: number
  readonly userLabel?: string
}

export type ImportedCredential = ImportedPassword | ImportedApp

interface Owner {
  readonly credentials?: readonly ImportedCredential[]
}

const mostApps = 10

const password = bodyOf(
  {
    type: { type: 'string', enum: ['password'] },
    value: { type: 'string', format: 'password-hash' },
    password: {
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      writeOnly: true,
      description: 'The password itself, instead of a hash; it is stored as a hash.',
    },
  },
  ['type'],
)

const app = bodyOf(
  {
    type: { type: 'string', enum: ['otp'] },
    secret: {
      type: 'string',
      format: 'otp-secret',
      writeOnly: true,
      description: 'Of an app that is set up already, in base32.',
    },
    algorithm: { type: 'string', enum: ['HmacSHA1', 'HmacSHA256', 'HmacSHA512'] },
    digits: { type: 'integer', enum: [6, 8] },
    period: { type: 'integer', minimum: 10, maximum: 300 },
    userLabel: { type: 'string', minLength: 1, maxLength: 255 },
  },
  ['type', 'secret'],
)

export const importedCredentials = {
  type: 'array',
  maxItems: 1 + mostApps,
  items: {
    type: 'object',
    discriminator: { propertyName: 'type' },
    properties: { type: { type: 'string', enum: ['password', 'otp'] } },
    required: ['type'],
    oneOf: [password, app],
  },
  description: 'At most one password, and authenticator apps.',
} as const

/** The password, and its place among the credentials. */
export const passwordIn = ({
  credentials = [],
}: Owner): { readonly given: ImportedPassword; readonly at: number } | undefined => {
  const at = credentials.findIndex(({ type }) => type === 'password')
  const given = credentials[at]
  return given?.type === 'password' ? { given, at } : undefined
}

const appsIn = ({ credentials = [] }: Owner): ImportedApp[] =>
  credentials.filter((one) => one.type === 'otp')

const hasApps = (user: Owner): boolean => appsIn(user).length > 0

/** What no schema says: one password at most, given in one way. */
export const credentialErrors = (user: Owner, place: string): FieldError[] => {
  const found = passwordIn(user)
  if (!found) return []
  const { credentials = [] } = user
  const second = credentials.findIndex(({ type }, i) => type === 'password' && i > found.at)
  const { value, password: text } = found.given
  return [
    ...((value === undefined) === (text === undefined)
      ? [
          {
            field: `${place}/credentials/${found.at}`,
            code: 'exclusive',
            message: 'needs a value (a hash) or a password, and not both',
          },
        ]
      : []),
    ...(second < 0
      ? []
      : [
          {
            field: `${place}/credentials/${second}`,
            code: 'duplicate',
            message: 'a user has one password: leave the others out',
          },
        ]),
  ]
}

type Parts = Pick<CredentialParts, 'storage' | 'keyring' | 'clock' | 'passwords'>

const parametersOf = (settings: SettingsDoc, given: ImportedApp): OtpParameters =>
  otpParameters(
    {
      otpPolicyAlgorithm: given.algorithm ?? settings.otpPolicyAlgorithm,
      otpPolicyDigits: given.digits ?? settings.otpPolicyDigits,
      otpPolicyPeriod: given.period ?? settings.otpPolicyPeriod,
    },
    given.secret,
  )

export const openCredentials = ({ storage, keyring, clock, passwords }: Parts) => {
  const appRows = (settings: SettingsDoc, { id: user_id, realm }: UserRow, user: Owner) =>
    appsIn(user).map((given): CredentialRow => {
      const id = newId()
      const parameters = JSON.stringify(parametersOf(settings, given))
      return {
        id,
        realm,
        user_id,
        type: 'otp',
        label: given.userLabel ?? null,
        priority: 10,
        secret: JSON.stringify(keyring.seal(parameters, credentialContext(realm, id))),
        created_at: clock.now(),
        used: 0,
      }
    })

  const openedOf = ({ realm, id, secret }: CredentialRow): string =>
    keyring.open(JSON.parse(secret), credentialContext(realm, id))

  return {
    /** Of a new user. */
    rowsOf: (settings: SettingsDoc, row: UserRow, user: Owner): CredentialRow[] => {
      const found = passwordIn(user)
      const apps = appRows(settings, row, user)
      if (found?.given.value === undefined) return apps
      const place = `/credentials/${found.at}/value`
      const { row: first, errors } = passwords.firstOf(row, found.given.value, place)
      if (!first) throw invalid(errors)
      return [first, ...apps]
    },

    /** The apps of a user who exists become those of the file, if it has any; none where they are the same. */
    appStatements: async (
      settings: SettingsDoc,
      row: UserRow,
      user: Owner,
    ): Promise<readonly Statement[]> => {
      if (!hasApps(user)) return []
      const all = await credentialsOf(storage, row.id)
      const before = all.filter(({ type }) => type === 'otp')
      const wanted = appsIn(user).map((given) => JSON.stringify(parametersOf(settings, given)))
      const isSame =
        new Set([...before.map(openedOf), ...wanted]).size === before.length &&
        before.length === wanted.length
      return isSame
        ? []
        : [
            deleteCredentials(storage, row.id, 'otp'),
            ...insertCredentials(storage, appRows(settings, row, user)),
          ]
    },
  }
}
