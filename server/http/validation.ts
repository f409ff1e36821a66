/**
 * Validation of requests in Fastify: with the strict Ajv of `schemas/ajv.ts`, compiled on first use. Bodies are not
 * coerced; query, path and header values arrive as text and are coerced.
 */

import type { FastifySchemaCompiler } from 'fastify'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import { type FieldError, invalid } from '#schemas/problems.ts'

export interface Validation {
  readonly compiler: FastifySchemaCompiler<JsonSchema>
  /** Makes a schema with `$id` known to the `$ref`s of all parts. */
  addSchema(schema: JsonSchema): void
  /** Compiles what routes have asked for so far; a test finds a bad schema with it. */
  compileAll(): void
}

/** A parameter goes by its name, a place in the body by its pointer. */
const nameOf = (error: FieldError): FieldError => ({
  ...error,
  field: error.field.replace(/^\//, ''),
})

/** Digits only: coercion also takes "0x10", "1e3" and, past every maximum, "Infinity". */
const digits = /^-?\d+$/

/** The largest integer that a parameter may be: it stays exact when others are added to it. */
export const largestInteger = 999_999_999_999_999

const misspeltIntegers = (schema: JsonSchema, value: unknown): FieldError[] =>
  Object.entries(schema.properties ?? {}).flatMap(([field, { type }]) => {
    const given = type === 'integer' && isObject(value) ? value[field] : undefined
    if (typeof given !== 'string') return []
    if (!digits.test(given)) return [{ field, code: 'type', message: 'must be an integer' }]
    return Math.abs(Number(given)) <= largestInteger
      ? []
      : [{ field, code: 'maximum', message: 'must have at most 15 digits' }]
  })

export const createValidation = (): Validation => {
  const strict = createAjv()
  const coercing = createAjv({ coerce: true })
  const asked: (() => void)[] = []
  return {
    compiler: ({ schema, httpPart }) => {
      const isBody = httpPart === 'body'
      const ajv = isBody ? strict : coercing
      const check = lazyValidator(ajv, schema)
      asked.push(() => ajv.compile(schema))
      if (isBody)
        return (value: unknown) => {
          const errors = check(value)
          return errors.length === 0 ? true : { error: invalid(errors) }
        }
      return (value: unknown) => {
        const misspelt = misspeltIntegers(schema, value)
        const errors = misspelt.length > 0 ? misspelt : check(value).map(nameOf)
        return errors.length === 0 ? true : { error: invalid(errors) }
      }
    },
    addSchema: (schema) => {
      strict.addSchema(schema)
      coercing.addSchema(schema)
    },
    compileAll: () => {
      for (const compile of asked) compile()
    },
  }
}
