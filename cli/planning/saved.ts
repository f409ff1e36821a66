/**
 * A plan in a file. A saved plan is applied unchanged or not at all: the digest over the content detects an edited or
 * truncated plan. It is not a signature; write access to the file is enough to make a new plan.
 */

import { createHash } from 'node:crypto'
import Type from 'typebox'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { jsonSchemaOf } from '#schemas/json-schema.ts'
import { kinds } from '#schemas/registry.ts'
import { formatVersion } from '#schemas/wire/wire.ts'
import { harmless } from '../control-characters.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { type Plan, problemExitCodes } from './plan.ts'

const closed = { additionalProperties: false } as const
const object = (properties: Record<string, Type.TSchema>) => Type.Object(properties, closed)
const oneOf = (values: readonly string[]) => Type.Unsafe({ type: 'string', enum: [...values] })
const orNull = (schema: Type.TSchema) => Type.Unsafe({ anyOf: [schema, { type: 'null' }] })
const count = Type.Integer({ minimum: 0 })
const text = Type.String()
const textOrNull = Type.Unsafe({ type: ['string', 'null'] })
const doc = Type.Unsafe({ type: ['object', 'null'] })
const anything = Type.Unknown()

const kind = oneOf(kinds.map((one) => one.kind))
const place = { kind, key: text }
const sourcePlace = orNull(
  object({ file: text, line: count, column: count, endColumn: Type.Optional(count) }),
)

const fieldChange = Type.Unsafe({
  oneOf: [
    object({
      pointer: text,
      change: Type.Literal('set'),
      before: Type.Optional(anything),
      after: Type.Optional(anything),
    }),
    object({ pointer: text, change: oneOf(['add', 'remove']), value: anything }),
  ],
})

const secretSource = Type.Unsafe({
  oneOf: [
    object({ from: Type.Literal('env'), name: text }),
    object({ from: Type.Literal('file'), path: text }),
    object({ from: Type.Literal('sops'), path: text, key: text }),
    object({ from: Type.Literal('exec'), command: text }),
    object({ from: Type.Literal('literal'), file: text, pointer: text }),
  ],
})

const lastChange = orNull(
  object({
    revision: count,
    at: Type.Integer(),
    actor: text,
    actorName: textOrNull,
    source: text,
    message: textOrNull,
  }),
)

const change = object({
  action: oneOf(['create', 'update', 'rename', 'delete', 'adopt']),
  ...place,
  from: textOrNull,
  before: doc,
  doc,
  ifHash: textOrNull,
  fields: Type.Array(fieldChange),
  secrets: Type.Array(
    object({ pointer: text, change: oneOf(['set', 'changed', 'again']), source: secretSource }),
  ),
  protected: object({ before: Type.Boolean(), after: Type.Boolean() }),
  adopts: Type.Boolean(),
  takenFrom: textOrNull,
  cascades: Type.Array(object(place)),
  place: sourcePlace,
  lastChange,
})

const realmPlan = object({
  realm: text,
  baseRevision: count,
  createRealm: Type.Boolean(),
  source: text,
  prune: oneOf(['owned', 'all', 'none']),
  changes: Type.Array(change),
  unmanaged: Type.Array(object({ ...place, owner: textOrNull })),
  unmanagedCount: count,
  warnings: Type.Array(
    object({ code: text, message: text, documents: Type.Optional(Type.Array(object(place))) }),
  ),
  problems: Type.Array(
    object({
      code: oneOf(Object.keys(problemExitCodes)),
      ...place,
      message: text,
      place: sourcePlace,
    }),
  ),
  impacts: Type.Array(
    object({
      ...place,
      sessions: count,
      users: count,
      members: count,
      documents: count,
      gains: Type.Optional(Type.Array(text)),
      replaces: Type.Optional(Type.Array(text)),
    }),
  ),
  unknownSecrets: Type.Optional(
    Type.Array(object({ ...place, pointer: text, source: secretSource })),
  ),
  summary: object({
    add: count,
    change: count,
    destroy: count,
    adopt: Type.Optional(count),
    along: Type.Optional(count),
  }),
})

const savedPlan = object({
  formatVersion: Type.Literal(formatVersion),
  version: text,
  createdAt: text,
  server: text,
  guards: object({ maxDeletions: count }),
  realms: Type.Array(realmPlan),
  digest: text,
})

const check = (value: unknown) =>
  lazyValidator(createAjv({ fillDefaults: false, isBrief: true }), jsonSchemaOf(savedPlan))(value)

const digestOf = (plan: Plan): string =>
  createHash('sha256').update(JSON.stringify(plan)).digest('hex')

export const serializePlan = (plan: Plan): string =>
  `${JSON.stringify({ ...plan, digest: digestOf(plan) }, null, 2)}\n`

const unusable = (file: string, problem: string): CommandError =>
  new CommandError(exitCodes.invalid, `${harmless(file)} ${problem}`, {
    hint: 'run `iamctl plan --out` again',
  })

const read = (content: string, file: string): unknown => {
  try {
    return JSON.parse(content)
  } catch (cause) {
    throw new CommandError(
      exitCodes.invalid,
      `${harmless(file)} is no saved plan: it is not JSON`,
      {
        hint: 'create one with `iamctl plan --out FILE`',
        cause,
      },
    )
  }
}

/** The plan of a file, exactly as it was saved; everything else is refused. */
export const parsePlan = (content: string, file: string): Plan => {
  const value = read(content, file)
  const version = (value as { formatVersion?: unknown } | null)?.formatVersion
  if (version === undefined) throw unusable(file, 'is no saved plan: it has no formatVersion')
  if (version !== formatVersion)
    throw unusable(
      file,
      `has format ${JSON.stringify(version)}, and this program reads format ${formatVersion}`,
    )
  const { digest, ...plan } = value as Plan & { digest?: unknown }
  if (digest === undefined)
    throw unusable(
      file,
      'is no saved plan: it has no digest (the output of --output json has none)',
    )
  if (digest !== digestOf(plan)) throw unusable(file, 'was changed after it was saved')
  const [error] = check(value)
  if (error) throw unusable(file, `is no plan of this program: ${error.field} ${error.message}`)
  return plan
}
