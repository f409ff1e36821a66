/**
 * From the operations of a changeset, as they come in, to those that the write path takes: every document is checked
 * by itself here, while others wait their turn, so that what is left to decide is what holds between documents.
 */

import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import {
  type Doc,
  isObject,
  type JsonSchema,
  jsonSchemaOf,
  pointerSegment,
} from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { compact, isStored } from '#schemas/normalize.ts'
import type { FieldError } from '#schemas/problems.ts'
import { kinds } from '#schemas/registry.ts'
import { documentView } from '#schemas/views.ts'
import { secretFields, walk } from '#schemas/walk.ts'
import { type ChangesetOperation, changesetOperation, mostOperations } from '#schemas/wire/wire.ts'
import { textErrors } from '#server/storage/values.ts'
import { fieldsAt, mostErrors } from '../write/faults.ts'
import { type Operation, placeOf } from '../write/operations.ts'
import { keyErrors } from '../write/put.ts'

const ajv = createAjv({ fillDefaults: false })
const checkShape = lazyValidator(ajv, jsonSchemaOf(changesetOperation))

const schemaAt = (spec: JsonSchema, pointer: string): JsonSchema =>
  pointer
    .split('/')
    .slice(1)
    .reduce<JsonSchema>((schema, name) => schema.properties?.[name] ?? {}, spec)

interface Checks {
  readonly kind: Kind
  readonly document: (doc: unknown) => readonly FieldError[]
  readonly secrets: ReadonlyMap<string, (value: unknown) => readonly FieldError[]>
}

const checksOf = (kind: Kind): Checks => ({
  kind,
  document: lazyValidator(ajv, documentView(kind)),
  secrets: new Map(
    secretFields(kind).map(({ pointer }) => [
      pointer,
      lazyValidator(ajv, schemaAt(kind.spec, pointer)),
    ]),
  ),
})

const byKind = new Map(kinds.map((kind) => [kind.kind, checksOf(kind)]))

/** How the values of a kind's secrets are checked, by pointer. */
export const secretChecks = (kind: string): Checks['secrets'] | undefined =>
  byKind.get(kind)?.secrets

/** Which members each operation must and must not have, beyond what their schema says. */
const members: Record<
  ChangesetOperation['op'],
  { readonly needs: readonly string[]; readonly refuses: readonly string[] }
> = {
  put: { needs: ['doc'], refuses: ['from'] },
  rename: { needs: ['doc', 'from'], refuses: [] },
  delete: { needs: [], refuses: ['doc', 'from', 'secrets', 'protected'] },
}

const memberErrors = (operation: ChangesetOperation): FieldError[] => {
  const { needs, refuses } = members[operation.op]
  return [
    ...needs
      .filter((name) => !(name in operation))
      .map((name) => ({ field: `/${name}`, code: 'required', message: 'is required' })),
    ...refuses
      .filter((name) => name in operation)
      .map((name) => ({
        field: `/${name}`,
        code: 'unknown-field',
        message: `is not for ${operation.op}`,
      })),
  ]
}

/** The canonical form would leave them out without a word. */
const unstoredErrors = (kind: Kind, doc: Doc): FieldError[] => {
  const errors: FieldError[] = []
  walk(kind.spec, doc, ({ pointer, value, schema }) => {
    if (isStored(schema) || value === null) return
    errors.push(
      schema['x-secret']
        ? { field: pointer, code: 'secret', message: 'belongs into secrets, not into the document' }
        : { field: pointer, code: 'read-only', message: 'is not part of the document' },
    )
  })
  return errors
}

const secretErrors = ({ secrets }: Checks, given: Readonly<Record<string, string>>): FieldError[] =>
  Object.entries(given).flatMap(([pointer, value]) => {
    const check = secrets.get(pointer)
    if (!check)
      return [
        {
          field: `/secrets/${pointerSegment(pointer)}`,
          code: 'unknown-field',
          message: 'is no secret of this kind',
        },
      ]
    // As a field of the document, as in a file.
    return check(value).map((error) => ({ ...error, field: `/doc${pointer}` }))
  })

export interface OperationReader {
  /** Takes the next one in; false once there is no use in going on. */
  read(value: unknown): boolean
  readonly operations: readonly Operation[]
  readonly errors: readonly FieldError[]
  /** The kinds that the operations are about, also those with errors. */
  readonly kinds: ReadonlySet<Kind>
}

export const createOperationReader = (): OperationReader => {
  const operations: Operation[] = []
  const errors: FieldError[] = []
  const found = new Set<Kind>()
  const places = new Map<string, number>()
  let count = 0

  const operationOf = (
    { kind }: Checks,
    given: ChangesetOperation,
    doc: Doc,
    at: string,
  ): Operation => {
    const { op, key, from, ifHash, secrets = {} } = given
    const expect = ifHash === undefined ? {} : { expect: { hash: ifHash } }
    if (op === 'delete') return { op, kind, key, at, ...expect }
    return {
      op: 'put',
      kind,
      key,
      doc,
      secrets,
      at,
      protected: given.protected ?? false,
      stated: true,
      ...(from === undefined ? {} : { from }),
      ...expect,
    }
  }

  const placeErrors = ({ kind, key }: ChangesetOperation, index: number): FieldError[] => {
    const place = placeOf(kind, key)
    const first = places.get(place)
    if (first !== undefined)
      return [{ field: '/key', code: 'duplicate', message: `operation ${first} is about it too` }]
    places.set(place, index)
    return []
  }

  /** What is wrong with it, its fields relative to the operation; what is right is kept. */
  const take = (value: unknown, index: number): readonly FieldError[] => {
    const text = textErrors(value)
    const shape = checkShape(value)
    const checks = isObject(value) ? byKind.get(String(value['kind'])) : undefined
    if (checks) found.add(checks.kind)
    if (shape.length > 0 || text.length > 0) return [...shape, ...text]
    const given = value as ChangesetOperation
    if (!checks)
      return [{ field: '/kind', code: 'unknown-kind', message: `there is no kind "${given.kind}"` }]
    const { kind } = checks
    const wrong = [
      ...memberErrors(given),
      ...placeErrors(given, index),
      ...secretErrors(checks, given.secrets ?? {}),
    ]
    const doc = compact(kind, given.doc ?? {})
    if (given.op !== 'delete' && given.doc) {
      const fields = [...unstoredErrors(kind, given.doc), ...checks.document(doc)]
      wrong.push(...fieldsAt('', fields.length > 0 ? fields : keyErrors(kind, given.key, doc)))
    }
    if (wrong.length === 0) operations.push(operationOf(checks, given, doc, `/operations/${index}`))
    return wrong
  }

  return {
    operations,
    errors,
    kinds: found,
    read: (value) => {
      const index = count
      count += 1
      if (index >= mostOperations) {
        errors.push({
          field: '/operations',
          code: 'maxItems',
          message: `must not have more than ${mostOperations} operations`,
        })
        return false
      }
      for (const error of take(value, index))
        errors.push({
          ...error,
          field: `/operations/${index}${error.field === '/' ? '' : error.field}`,
        })
      return errors.length < mostErrors
    },
  }
}
