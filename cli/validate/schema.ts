/**
 * The schema of a realm file against a realm value. Sections are compiled by the build, or one by one when they are first
 * met: most files hold few of them, and compiling all takes longer than checking thousands of documents.
 */

import { createValidators, type ErrorObject, fieldErrors } from '#schemas/ajv.ts'
import { type Doc, isObject, type JsonSchema, pointerSegment } from '#schemas/json-schema.ts'
import { keyOf } from '#schemas/kind.ts'
import { own } from '#schemas/own.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { kinds } from '#schemas/registry.ts'
import { nearest } from '#schemas/text/typos.ts'
import { realmView } from '#schemas/views.ts'
import { propertySchema } from '#schemas/walk.ts'
import { onlyReference, parseTemplate } from '../load/variables/template.ts'
import { compiled } from './compiled.ts'
import { didYouMean, type Finding } from './finding.ts'
import { locate, segmentsOf, valueAt } from './locate.ts'
import { typeHint } from './type-hints.ts'

export interface SchemaFindings {
  readonly findings: readonly Finding[]
  /** Pointers to what has another shape than code expects: rules cannot be held against it. */
  readonly misshapen: readonly string[]
}

interface Fault extends Finding {
  readonly keyword: string
  /** Of a field that is missing: its name. Of one that is not known: the name that was meant. */
  readonly field?: string | undefined
}

/** Keywords after whose failure a value still has the shape that its type says. */
const harmless = new Set([
  'additionalProperties',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'uniqueItems',
])

/** Rules for a secret that is written in the file; the value of a reference is unknown here. */
const ofLiterals = new Set(['format', 'pattern', 'minLength', 'maxLength'])

const words: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of fields',
}

const nameOfType = (value: unknown): string => {
  if (value === null) return 'null'
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a fraction'
  return words[Array.isArray(value) ? 'array' : typeof value] ?? typeof value
}

/** Whether a secret names where its value comes from, and does not stand there itself. */
export const isSecretReference = (text: string): boolean =>
  onlyReference(parseTemplate(text)) !== undefined

const redirectHint = (value: string): string | undefined => {
  if (value.includes('*')) return 'list every address: they are compared byte for byte'
  if (value.includes('#')) return 'remove the fragment ("#…")'
  if (URL.parse(value) === null) return 'begin with the scheme, as in https://shop.example/callback'
  return undefined
}

/** The values that a person would choose among: not null, and each in one spelling. */
const choices = (schema: JsonSchema): string[] =>
  (schema.enum ?? []).flatMap((value) =>
    value === null || own(schema['x-alias'] ?? {}, String(value)) !== undefined
      ? []
      : [String(value)],
  )

/** What helps beyond the message, where the value itself tells what was meant. */
const hintFor = (
  error: ErrorObject,
  schema: JsonSchema,
  value: unknown,
  nameField: string | undefined,
): string | undefined => {
  if (error.keyword === 'enum' && typeof value === 'string')
    return didYouMean(nearest(value, choices(schema))).hint
  if (error.keyword === 'format' && schema.format === 'redirect-uri' && typeof value === 'string')
    return redirectHint(value)
  return error.keyword === 'type' && !schema.enum ? typeHint(schema, value, nameField) : undefined
}

const messageFor = (error: ErrorObject, schema: JsonSchema, value: unknown): string => {
  if (error.keyword === 'type' && !schema.enum) return typeMessage(schema, value)
  if (error.keyword === 'type' || error.keyword === 'enum')
    return `must be one of ${choices(schema).join(', ')}`
  const message = fieldErrors([error])[0]?.message ?? 'is not valid'
  return message.replace('must NOT', 'must not')
}

const typeMessage = (schema: JsonSchema, value: unknown): string => {
  const expected = [schema.type ?? []].flat().filter((type) => type !== 'null')
  return `must be ${expected.map((type) => words[type] ?? type).join(' or ')}, and is ${nameOfType(value)}`
}

/** The field that names an entry, where the pointer leads to one, or to the list of them. */
const nameFieldAt = (pointer: string): string | undefined => {
  const { kind, rest } = locate(pointer)
  return rest.length === 0 && kind?.shape !== 'singleton' ? kind?.keyFields[0] : undefined
}

/** An entry for a built-in document, or for one that was it, names only what it changes. */
const isBornWith = (pointer: string, value: unknown, field: string): boolean => {
  const { kind, rest } = locate(pointer)
  if (kind === undefined || rest.length > 0 || kind.parentKind !== null || !isObject(value))
    return false
  const { renamedFrom } = value
  const key = typeof renamedFrom === 'string' ? renamedFrom : keyOf(kind, value)
  return Object.hasOwn(seedOf(kind, key)?.doc ?? {}, field)
}

/** The schema of each section by its name, whole without the others. */
export const sectionSchemas = ({ properties, $defs }: JsonSchema): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries(properties ?? {}).map(([section, schema]) => [section, { ...schema, $defs }]),
  )

export const createSchemaCheck = (): ((realm: Doc) => SchemaFindings) => {
  const view = realmView(kinds)
  const sections = sectionSchemas(view)
  const validatorOf = createValidators(compiled, { fillDefaults: false, isBrief: true })

  const resolve = (schema: JsonSchema | undefined): JsonSchema => {
    const name = /^#\/\$defs\/(.+)$/.exec(String(schema?.['$ref'] ?? ''))?.[1]
    const definitions = view['$defs'] as Readonly<Record<string, JsonSchema>>
    return (name === undefined ? schema : definitions[name]) ?? {}
  }

  const schemaAt = (segments: readonly string[]): JsonSchema =>
    segments.reduce<JsonSchema>((schema, segment) => {
      const item = /^\d+$/.test(segment) ? schema.items : undefined
      return resolve(item ?? propertySchema(schema, segment))
    }, view)

  const faultOf = (error: ErrorObject, section: string, realm: Doc): Fault | null => {
    const pointer = `/${pointerSegment(section)}${error.instancePath}`
    const segments = segmentsOf(pointer)
    const schema = schemaAt(segments)
    const { keyword, params } = error
    if (keyword === 'additionalProperties')
      return unknownField(pointer, String(params['additionalProperty']), schema)
    const value = valueAt(realm, segments)
    if (schema['x-secret'] && ofLiterals.has(keyword) && isSecretReference(String(value)))
      return null
    const fault = { severity: 'error', code: keyword, keyword, pointer } as const
    if (keyword === 'required') {
      const field = String(params['missingProperty'])
      if (isBornWith(pointer, value, field)) return null
      return { ...fault, field, message: `"${field}" is required` }
    }
    if (keyword === 'uniqueItems') {
      const [first, again] = [Number(params['i']), Number(params['j'])].sort((a, b) => a - b)
      return {
        ...fault,
        pointer: `${pointer}/${again}`,
        message: 'is in the list already',
        related: [{ message: 'first here', pointer: `${pointer}/${first}` }],
      }
    }
    const hint = hintFor(error, schema, value, nameFieldAt(pointer))
    const message = messageFor(error, schema, value)
    return { ...fault, message, ...(hint === undefined ? {} : { hint }) }
  }

  return (realm) => {
    const faults: Fault[] = []
    for (const [section, value] of Object.entries(realm)) {
      const schema = own(sections, section)
      if (schema === undefined) {
        faults.push(unknownField('', section, view))
        continue
      }
      const validate = validatorOf(section, schema)
      if (validate(value)) continue
      for (const error of validate.errors ?? []) {
        const fault = faultOf(error, section, realm)
        if (fault !== null) faults.push(fault)
      }
    }
    return {
      findings: withoutEchoes(faults),
      misshapen: faults.flatMap(({ keyword, pointer }) => (harmless.has(keyword) ? [] : [pointer])),
    }
  }
}

const unknownField = (pointer: string, name: string, schema: JsonSchema): Fault => {
  const elsewhere = hintOfApi(pointer, name)
  const meant =
    elsewhere === undefined ? nearest(name, Object.keys(schema.properties ?? {})) : undefined
  return {
    severity: 'error',
    code: 'unknown-field',
    keyword: 'additionalProperties',
    pointer: `${pointer}/${pointerSegment(name)}`,
    at: 'key',
    about: pointer,
    message: `unknown ${pointer === '' ? 'section' : 'field'} "${name}"`,
    field: meant,
    ...(elsewhere === undefined ? didYouMean(meant) : { hint: elsewhere }),
  }
}

/** Why a field of the admin API has no place in a file. */
const hintOfApi = (pointer: string, name: string): string | undefined => {
  const { kind, rest } = locate(pointer)
  const field = rest.length === 0 ? own(kind?.spec.properties ?? {}, name) : undefined
  if (field?.readOnly) return 'the server makes it: take it out'
  return field?.['x-only'] === 'rest' ? 'in files, nesting gives it' : undefined
}

/**
 * One mistake, one message: a value of a wrong type gets no further messages, and a misspelt field is not reported as
 * missing too.
 */
const withoutEchoes = (faults: readonly Fault[]): Finding[] => {
  const mistyped = new Set<string>()
  const misspelt = new Set<string>()
  for (const { keyword, pointer, field } of faults) {
    if (keyword === 'type') mistyped.add(pointer)
    if (keyword === 'additionalProperties')
      misspelt.add(`${pointer.slice(0, pointer.lastIndexOf('/'))}\n${field}`)
  }
  return faults
    .filter(({ keyword, pointer, field }) =>
      keyword === 'required'
        ? !misspelt.has(`${pointer}\n${field}`)
        : keyword === 'type' || !mistyped.has(pointer),
    )
    .map(({ keyword: _keyword, field: _field, ...finding }) => finding)
}
