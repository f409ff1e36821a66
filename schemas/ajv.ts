/**
 * The only Ajv factory: strict, every error at once, unknown fields are errors and never dropped. The server's
 * bodies and the CLI's files are checked by the same instance settings; only query, path and header values,
 * which arrive as text, are coerced.
 */

import { _, type ErrorObject, type ValidateFunction, Ajv2020 as Validator } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { type JsonSchema, pointerSegment } from './json-schema.ts'
import type { FieldError } from './problems.ts'
import { formats } from './text/formats.ts'
import { uniqueItems } from './unique-items.ts'

export type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'

const markKeywords = [
  'x-ref',
  'x-secret',
  'x-set',
  'x-immutable',
  'x-only',
  'x-kept',
  'x-follows',
  'x-alias',
  'x-show-unset',
  'x-described',
]

/** Validators by their name, as build.ts writes them; from source there are none, and each is compiled at first use. */
export type Compiled = Readonly<Record<string, ValidateFunction>>

/** The formats of JSON Schema and our own, which win. Code that is written by the build asks for them here. */
export const allFormats = {
  ...fullFormats,
  ...Object.fromEntries(
    Object.entries(formats).map(([name, { test }]) => [name, { validate: test }]),
  ),
}

export const createAjv = ({
  coerce = false,
  fillDefaults = true,
  checkSchemas = false,
  isBrief = false,
  keepsCode = false,
}: {
  /** Turn text into the type the schema wants. */
  coerce?: boolean
  /** Write defaults into the value that is checked; without, it is left as it is. */
  fillDefaults?: boolean
  /** Check schemas against the meta-schema: tests do, so that a server need not compile it at every start. */
  checkSchemas?: boolean
  /** For a process that ends soon: code that is polished takes longer to make than it saves on ten thousand values. */
  isBrief?: boolean
  /** For the build, which writes the code of validators into a module that has `allFormats` as `formats`. */
  keepsCode?: boolean
} = {}): Validator => {
  const ajv = new Validator({
    strict: true,
    validateSchema: checkSchemas,
    allErrors: true,
    useDefaults: fillDefaults,
    discriminator: true,
    coerceTypes: coerce ? 'array' : false,
    meta: checkSchemas,
    code: {
      optimize: !isBrief,
      ...(keepsCode && { source: true, esm: true, formats: _`formats` }),
    },
  })
  for (const keyword of markKeywords) ajv.addKeyword({ keyword })
  ajv.removeKeyword('uniqueItems').addKeyword(uniqueItems(_))
  for (const [name, format] of Object.entries(allFormats)) ajv.addFormat(name, format)
  return ajv
}

/** Validators by name: compiled by the build, else when one is first asked for, and then kept. */
export const createValidators = (
  compiled: Compiled,
  options: Parameters<typeof createAjv>[0] = {},
): ((name: string, schema: JsonSchema) => ValidateFunction) => {
  const known = new Map(Object.entries(compiled))
  let ajv: Validator | undefined
  return (name, schema) => {
    const before = known.get(name)
    if (before !== undefined) return before
    ajv ??= createAjv(options)
    const validate = ajv.compile(schema)
    known.set(name, validate)
    return validate
  }
}

const pointerOf = (error: ErrorObject): string => {
  if (error.keyword === 'additionalProperties')
    return `${error.instancePath}/${pointerSegment(error.params['additionalProperty'])}`
  if (error.keyword === 'required')
    return `${error.instancePath}/${pointerSegment(error.params['missingProperty'])}`
  if (error.keyword === 'discriminator')
    return `${error.instancePath}/${pointerSegment(error.params['tag'])}`
  return error.instancePath
}

const codes: Record<string, string> = {
  additionalProperties: 'unknown-field',
  discriminator: 'enum',
}

const messageOf = (error: ErrorObject): string => {
  if (error.keyword === 'additionalProperties') return 'unknown field'
  if (error.keyword === 'required') return 'is required'
  if (error.keyword === 'enum')
    return `must be one of ${(error.params['allowedValues'] as unknown[]).map(String).join(', ')}`
  if (error.keyword === 'discriminator')
    return error.params['tagValue'] === undefined ? 'is required' : 'must be one that is known'
  if (error.keyword === 'format')
    return formats[error.params['format']]?.message ?? error.message ?? 'has a wrong format'
  return error.message ?? 'is not valid'
}

/** Ajv's errors in our words: a pointer, a stable code, what to do. */
export const fieldErrors = (errors: readonly ErrorObject[]): FieldError[] =>
  errors.map((error) => ({
    field: pointerOf(error) || '/',
    code: codes[error.keyword] ?? error.keyword,
    message: messageOf(error),
  }))

/** More are not told of one value: all of them have one cause, and there may be one for each byte that was sent. */
const mostErrors = 1000

/** Compiles on first use: most schemas of a process are never needed. */
export const lazyValidator = (
  ajv: Validator,
  schema: JsonSchema,
): ((value: unknown) => readonly FieldError[]) => {
  let validate: ReturnType<Validator['compile']> | undefined
  return (value) => {
    validate ??= ajv.compile(schema)
    if (validate(value)) return []
    const errors = validate.errors ?? []
    // Ajv keeps the errors of the last value, and each of them the value, until the same schema is asked again.
    validate.errors = null
    return fieldErrors(errors.slice(0, mostErrors))
  }
}
