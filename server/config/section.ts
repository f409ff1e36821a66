/**
 * A section of the configuration: its options with schema, default and description in one place. Names of flags and
 * variables are derived from the names of the options.
 */

import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox'

/** A value that cannot be used; `option` is its name in the section. */
export interface Fault {
  readonly option: string
  readonly message: string
}

export interface Section<T extends TObject = TObject> {
  readonly doc: string
  /** In front of the names of all its options: `database` + `url` is IAMCTL_DATABASE_URL. */
  readonly prefix: string
  readonly options: T
  /** What a schema cannot say. The values have passed the schema. */
  readonly check?: ((values: Static<T>) => Fault | undefined) | undefined
}

export const defineSection = <P extends TProperties>({
  options,
  prefix = '',
  ...rest
}: {
  doc: string
  prefix?: string
  options: P
  check?: (values: Static<TObject<P>>) => Fault | undefined
}): Section<TObject<P>> => ({
  ...rest,
  prefix,
  options: Type.Object(options, { additionalProperties: false }),
})

/** A text that no message repeats. Without a flag, because other users of the machine can read flags. */
export const secretText = (description: string, options: { format?: string } = {}) =>
  Type.Optional(Type.String({ minLength: 1, ...options, description, 'x-secret': { flag: false } }))

/** Of some options that exclude each other, the second one that is given. */
export const onlyOne = <T extends object>(
  values: T,
  options: readonly (keyof T & string)[],
): Fault | undefined => {
  const [first, second] = options.filter((option) => values[option] !== undefined)
  if (first === undefined || second === undefined) return undefined
  return { option: second, message: 'excludes the other source of the same value: give one' }
}

export interface Option {
  readonly section: string
  readonly name: string
  /** `base-url`; none for a secret. */
  readonly flag: string | undefined
  /** The name under which a parser of flags hands it over: `baseUrl`. */
  readonly flagKey: string
  readonly env: string
  readonly hidden: boolean
  readonly schema: TSchema & { type?: string; default?: unknown; description?: string }
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
const words = (text: string): string[] => text.split(/(?=[A-Z])/).map((word) => word.toLowerCase())

export const optionsOf = (name: string, { prefix, options }: Section): Option[] =>
  Object.entries(options.properties).map(([option, schema]) => {
    const flagKey = prefix === '' ? option : prefix + capitalized(option)
    const secret: unknown = Reflect.get(schema, 'x-secret')
    const hasFlag =
      typeof secret !== 'object' || secret === null || Reflect.get(secret, 'flag') !== false
    return {
      section: name,
      name: option,
      flag: hasFlag ? words(flagKey).join('-') : undefined,
      flagKey,
      env: `IAMCTL_${words(flagKey).join('_').toUpperCase()}`,
      hidden: secret !== undefined,
      schema,
    }
  })

/** How a message calls an option. */
export const labelOf = ({ flag, env }: Option): string =>
  flag === undefined ? env : `--${flag} (${env})`
