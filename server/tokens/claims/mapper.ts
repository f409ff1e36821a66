/** The interface of a claim mapper, and the settings that all mappers share (names of Keycloak). */

import type { ClaimMapperId } from '#schemas/drivers/claim-mappers.ts'
import { own } from '#schemas/own.ts'
import type { UserFields } from '#schemas/wire/records.ts'
import type { HeldRoles } from '../access/roles.ts'
import type { TokenClient } from '../client.ts'

export type Claims = Readonly<Record<string, unknown>>

export type MapperConfig = Readonly<Record<string, string>>

export interface MappedUser extends UserFields {
  readonly id: string
  readonly createdAt: number
  readonly updatedAt: number
}

export interface MapperInput {
  readonly config: MapperConfig
  /** Undefined where a client acts for itself. */
  readonly user: MappedUser | undefined
  /** What tokens for the client may contain. */
  readonly roles: HeldRoles
  readonly client: TokenClient
}

/** A value and the place for it. */
export interface MappedClaim {
  readonly path: readonly string[]
  readonly value: unknown
}

export interface ClaimMapper {
  readonly id: ClaimMapperId
  /** Only then are roles and groups read, for tokens that would have none otherwise. */
  readonly usesRoles?: true
  /** The claim that it makes where `claim.name` does not say. */
  readonly claim?: string
  /** What it adds to tokens; nothing where there is no value. */
  claims?(input: MapperInput): readonly MappedClaim[]
  /** What it adds to the audience of access tokens. */
  audiences?(input: MapperInput): readonly string[]
}

/** Placeholder for the client id, in the spelling of Keycloak. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text that people write
export const eachClient = '${client_id}'

/** `address.country` is a member of `address`; `\.` is a dot. */
export const pathOf = (name: string): string[] =>
  name.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'))

const typed: Readonly<Record<string, (text: string) => unknown>> = {
  String: (text) => text,
  int: (text) => numberOf(text),
  long: (text) => numberOf(text),
  boolean: (text) => text === 'true',
  JSON: (text) => jsonOf(text),
}

const numberOf = (text: string): number | undefined => {
  const value = Number(text)
  return text.trim() !== '' && Number.isFinite(value) ? value : undefined
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The text as the type that `jsonType.label` names; undefined where it is none of that type. */
const convert = (config: MapperConfig, text: string): unknown =>
  (own(typed, config['jsonType.label'] ?? 'String') ?? String)(text)

/** Values under `claim.name`: a list where the mapper says so, else the first. */
export const named = (
  config: MapperConfig,
  values: readonly string[],
  { list = config['multivalued'] === 'true' } = {},
): readonly MappedClaim[] => {
  const name = config['claim.name']
  const converted = values.map((text) => convert(config, text)).filter((one) => one !== undefined)
  if (name === undefined || name === '' || converted.length === 0) return []
  return [{ path: pathOf(name), value: list ? converted : converted[0] }]
}
