/** Attributes of SCIM resources with their characteristics (RFC 7643 §2 and §7), and the shapes that schemas are made of. */

export type AttributeType =
  | 'string'
  | 'boolean'
  | 'integer'
  | 'dateTime'
  | 'reference'
  | 'binary'
  | 'complex'

export interface Attribute {
  readonly name: string
  readonly type: AttributeType
  readonly multiValued: boolean
  readonly description: string
  readonly required: boolean
  readonly caseExact: boolean
  readonly mutability: 'readWrite' | 'readOnly' | 'writeOnly' | 'immutable'
  readonly returned: 'always' | 'default' | 'never' | 'request'
  readonly uniqueness: 'none' | 'server'
  readonly canonicalValues?: readonly string[]
  readonly referenceTypes?: readonly string[]
  readonly subAttributes?: readonly Attribute[]
}

export interface Schema {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly attributes: readonly Attribute[]
}

/** The schemas of a resource type, and what all resources have. */
export interface ResourceType {
  readonly name: 'User' | 'Group'
  readonly endpoint: '/Users' | '/Groups'
  readonly description: string
  readonly core: Schema
  readonly extensions: readonly Schema[]
  /** What a description of the API says of filters: on which attributes, and at what price. */
  readonly searched: string
  /** Attributes that lists cannot be sorted by. */
  readonly unsorted: readonly string[]
}

/** A value as JSON has it; names are spelt as in the schemas once a body was read. */
export type Value = unknown
export type Complex = Readonly<Record<string, Value>>
export type Resource = Readonly<Record<string, Value>>

export const isComplex = (value: Value): value is Complex =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Options = Partial<Omit<Attribute, 'name' | 'description'>>

export const attribute = (name: string, description: string, options: Options = {}): Attribute => ({
  name,
  type: 'string',
  multiValued: false,
  description,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...options,
})

export const complex = (
  name: string,
  description: string,
  subAttributes: readonly Attribute[],
  options: Options = {},
): Attribute => attribute(name, description, { type: 'complex', subAttributes, ...options })

/** A list of values that have a type each, and of which one may be the primary one (RFC 7643 §2.4). */
export const plural = (
  name: string,
  description: string,
  canonicalValues: readonly string[],
  value: Options = {},
): Attribute =>
  complex(
    name,
    description,
    [
      attribute('value', 'The value itself.', value),
      attribute('display', 'A name for people to read.'),
      attribute('type', 'What the value is used for.', {
        ...(canonicalValues.length > 0 ? { canonicalValues } : {}),
      }),
      attribute('primary', 'Whether it is the preferred value; one at most is.', {
        type: 'boolean',
      }),
    ],
    { multiValued: true },
  )

/** What every resource has beside its schemas (RFC 7643 §3.1). */
export const commonAttributes: readonly Attribute[] = [
  attribute('schemas', 'The schemas of the resource.', {
    type: 'reference',
    multiValued: true,
    required: true,
    caseExact: true,
    mutability: 'readOnly',
    returned: 'always',
    referenceTypes: ['uri'],
  }),
  attribute('id', 'The identifier that this server gave the resource.', {
    caseExact: true,
    mutability: 'readOnly',
    returned: 'always',
    uniqueness: 'server',
  }),
  attribute(
    'externalId',
    'The identifier that the sender gave the resource; unique among the users, or groups, of the sender.',
    { caseExact: true, uniqueness: 'server' },
  ),
  complex(
    'meta',
    'Type, times, version and address of the resource.',
    [
      attribute('resourceType', 'The type of the resource.', { caseExact: true }),
      attribute('created', 'When it was made.', { type: 'dateTime' }),
      attribute('lastModified', 'When it was changed last.', { type: 'dateTime' }),
      attribute('location', 'Its address.', { type: 'reference', referenceTypes: ['uri'] }),
      attribute('version', 'Its ETag.', { caseExact: true }),
    ].map((one) => ({ ...one, mutability: 'readOnly' as const })),
    { mutability: 'readOnly' },
  ),
]

/** Attribute names are compared without case (RFC 7643 §2.1). */
export const named = (
  attributes: readonly Attribute[] | undefined,
  name: string,
): Attribute | undefined => {
  const wanted = name.toLowerCase()
  return attributes?.find((one) => one.name.toLowerCase() === wanted)
}

/** The attributes of the resource itself, without those of extensions. */
export const ownAttributes = ({ core }: ResourceType): readonly Attribute[] => [
  ...commonAttributes,
  ...core.attributes,
]

export const extensionNamed = ({ extensions }: ResourceType, urn: string): Schema | undefined =>
  extensions.find(({ id }) => id.toLowerCase() === urn.toLowerCase())
