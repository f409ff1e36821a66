/**
 * The configuration of the server: flag over variable over default, checked before anything starts. What is
 * wrong becomes one line that names the flag and the variable and never repeats a secret.
 */

import { join, resolve } from 'node:path'
import type { Static } from 'typebox'
import { createValidators, fieldErrors } from '#schemas/ajv.ts'
import { type JsonSchema, jsonSchemaOf } from '#schemas/json-schema.ts'
import { bootstrap } from './bootstrap.ts'
import { compiled } from './compiled.ts'
import { database } from './database.ts'
import { http } from './http.ts'
import { keys } from './keys.ts'
import { limits } from './limits.ts'
import { outgoing } from './outgoing.ts'
import { passwords } from './passwords.ts'
import { runtime } from './runtime.ts'
import { labelOf, type Option, optionsOf, type Section } from './section.ts'
import { likelyTypo } from './typos.ts'
import { unknownVariables } from './unknown-variables.ts'

const sections = { http, runtime, database, keys, bootstrap, limits, passwords, outgoing } as const

type Sections = typeof sections
type Read = { [S in keyof Sections]: Static<Sections[S]['options']> }

export type Config = Readonly<Omit<Read, 'http' | 'database'>> & {
  /** `baseUrl` is an origin without a slash at its end. */
  readonly http: Read['http'] & { readonly baseUrl: string }
  readonly database: Read['database'] & { readonly url: string }
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export interface ConfigSources {
  /** As a parser of flags hands them over: `{ baseUrl: 'https://…' }`. */
  readonly flags?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface OptionDescription {
  readonly section: string
  /** `--base-url <text>`; none where the value is a secret. */
  readonly flag: string | undefined
  readonly env: string
  readonly type: 'text' | 'number' | 'list' | 'flag'
  readonly default: string | undefined
  readonly doc: string
}

const isSectionName = (name: string): name is keyof Sections => Object.hasOwn(sections, name)
const sectionNames = Object.keys(sections).filter(isSectionName)
const validatorOf = createValidators(compiled)
const allOptions: readonly Option[] = sectionNames.flatMap((name) =>
  optionsOf(name, sections[name]),
)

export const loadConfig = ({ flags = {}, env = {} }: ConfigSources): Config => {
  refuseUnknown(flags, env)
  const read = Object.fromEntries(
    sectionNames.map((name) => [name, readSection(name, sections[name], { flags, env })]),
    // The one cast, after the schema of each section has spoken.
  ) as unknown as Read
  return checkTogether(complete(read))
}

/** Sentences about variables that have no effect, for the log of a start and for `check-config`. */
export const configWarnings = ({ env = {} }: ConfigSources): string[] =>
  unknownVariables(env, new Set(allOptions.map((option) => option.env))).map(
    (name) => `the variable ${name} is no option of this version and has no effect`,
  )

export const describeConfig = (): OptionDescription[] =>
  allOptions.map(({ section, flag, env, schema }) => {
    const type = typeOf(schema)
    const value = schema.default
    return {
      section,
      flag: flag === undefined ? undefined : `--${flag}${type === 'flag' ? '' : ` <${type}>`}`,
      env,
      type,
      default: value === undefined || Array.isArray(value) ? undefined : String(value),
      doc: schema.description ?? '',
    }
  })

const typeOf = ({ type }: Option['schema']): OptionDescription['type'] => {
  if (type === 'integer') return 'number'
  if (type === 'array') return 'list'
  return type === 'boolean' ? 'flag' : 'text'
}

const refuseUnknown = (
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): void => {
  const known = new Set(allOptions.filter(({ flag }) => flag).map(({ flagKey }) => flagKey))
  const strange = Object.keys(flags).find((key) => flags[key] !== undefined && !known.has(key))
  if (strange !== undefined) throw new ConfigError(`there is no server option "${strange}"`)
  const names = allOptions.map((option) => option.env)
  for (const name of Object.keys(env)) {
    const meant = likelyTypo(name, names)
    if (meant !== undefined)
      throw new ConfigError(`the variable ${name} is not known: did you mean ${meant}?`)
  }
}

/** By the names of the sections, for the build. */
export const configSchemas = (): Record<string, JsonSchema> =>
  Object.fromEntries(sectionNames.map((name) => [name, jsonSchemaOf(sections[name].options)]))

const readSection = (
  name: string,
  section: Section,
  { flags, env }: Required<ConfigSources>,
): Record<string, unknown> => {
  const options = optionsOf(name, section)
  const values: Record<string, unknown> = {}
  for (const option of options) {
    const given = (option.flag === undefined ? undefined : flags[option.flagKey]) ?? env[option.env]
    // Compose files and pipelines pass unset variables as empty ones.
    if (given !== undefined && given !== '') values[option.name] = fromText(given, option)
  }
  const refuse = (path: string, message: string): never => {
    const option = options.find((one) => one.name === path)
    if (option === undefined) throw new ConfigError(`${name}: ${message}`)
    throw new ConfigError(`${labelOf(option)}: ${message}${shown(option, values[path])}`)
  }
  const validate = validatorOf(name, jsonSchemaOf(section.options))
  const [error] = validate(values) ? [] : fieldErrors(validate.errors ?? [])
  if (error !== undefined) refuse(error.field.split('/')[1] ?? '', error.message)
  const fault = section.check?.(values)
  if (fault !== undefined) refuse(fault.option, fault.message)
  return values
}

const fromText = (given: unknown, { schema }: Option): unknown => {
  if (typeof given !== 'string') return given
  const type = typeOf(schema)
  if (type === 'number') return /^-?\d{1,15}$/.test(given) ? Number(given) : given
  if (type === 'flag') return { true: true, '1': true, false: false, '0': false }[given] ?? given
  if (type === 'list') {
    const entries = given.split(',').map((entry) => entry.trim())
    return entries.filter((entry) => entry !== '')
  }
  return given
}

const shown = ({ hidden, name }: Option, value: unknown): string => {
  if (hidden || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const hint =
    name === 'port' && text.startsWith('tcp://')
      ? '; Kubernetes sets it for a Service of this name: set enableServiceLinks to false'
      : ''
  return `, not ${JSON.stringify(text.slice(0, 80))}${hint}`
}

const complete = (read: Read): Config => {
  const data = resolve(read.runtime.data)
  const baseUrl = new URL(read.http.baseUrl ?? `http://127.0.0.1:${read.http.port}`).origin
  return {
    ...read,
    runtime: { ...read.runtime, data },
    http: { ...read.http, baseUrl },
    database: { ...read.database, url: read.database.url ?? `sqlite:${join(data, 'iamctl.db')}` },
  }
}

const checkTogether = (config: Config): Config => {
  if (config.runtime.workers > 1 && config.database.url.startsWith('sqlite:'))
    throw new ConfigError(
      '--workers (IAMCTL_WORKERS): more than one needs PostgreSQL, see --database-url (IAMCTL_DATABASE_URL)',
    )
  if (config.runtime.logMessages && !isLoopback(config.http.baseUrl))
    throw new ConfigError(
      '--log-messages (IAMCTL_LOG_MESSAGES): codes in a log are for local work, where the base URL is that of this machine',
    )
  return config
}

const isLoopback = (url: string): boolean =>
  /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)
