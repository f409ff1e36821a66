/** Generated values that a schema accepts; a new kind or field needs no line here. */

import fc from 'fast-check'
import { commandLineId } from '#schemas/access/command-line.ts'
import type { Doc, JsonSchema } from '#schemas/json-schema.ts'
import { type Kind, keyOf } from '#schemas/kind.ts'
import { isStored } from '#schemas/normalize.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { childrenOf, kindNamed } from '#schemas/registry.ts'
import { secretFields } from '#schemas/walk.ts'
import { sampleNumbered } from '../support/samples.ts'
import { tuned } from './tuned.ts'

/** One document as it was thrown; secrets by pointer, as the name of the variable that has the value. */
export interface Item {
  readonly kind: string
  readonly key: string
  readonly doc: Doc
  readonly secrets: Readonly<Record<string, string>>
  readonly protected: boolean
  /** Above 0: if it is new, it was another one before; which, the number decides. */
  readonly rename: number
  /** Where it is a rename: the key that the other one has. */
  readonly from?: string
  /** Whether its lists of children stand in the file where they are empty. */
  readonly withLists: boolean
}

const numbered = (letter: string): string =>
  `${letter.repeat(8)}-secret-value-of-forty-characters--`

/** What the secrets of generated files come from. */
export const environment: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['A', 'B', 'C'].map((letter) => [`SECRET_${letter}`, numbered(letter)])),
  INITIAL: 'Initially-Unknown-77!',
  ...Object.fromEntries(
    ['A', 'B'].map((letter) => [
      `HASH_${letter}`,
      `$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$${letter.repeat(43)}`,
    ]),
  ),
}

/** Texts that YAML, templates and shells would like to read as something else. */
const oddTexts = [
  'text',
  'yes',
  'null',
  '0x1F',
  '12e3',
  ' - a: # b',
  'two\nlines\n',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
  '${var:NOBODY} and $${more',
  'ünï ✓ \u{1F511}',
  `"quoted' \\`,
  '',
]

const integers = ({ default: usual, minimum, maximum }: JsonSchema): number[] => {
  const least = Number(minimum ?? 0)
  const most = Number(maximum ?? Number.MAX_SAFE_INTEGER)
  const some = [least, least + 1, Number(usual ?? least), Number(usual ?? least) + 1]
  return [...new Set(some.filter((n) => n >= least && n <= most))]
}

const pool = (kind: Kind): string[] => keysOf(kind)

const textOf = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  const plain = !schema.format && !schema['pattern'] && !schema['minLength']
  const samples = [1, 2, 3].map((n) => sampleNumbered(schema, n))
  return fc.constantFrom(...samples, ...(plain ? oddTexts : []))
}

const thrownFor = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  const mark = schema['x-ref']
  if (mark) {
    const keys = pool(kindNamed(mark.kind))
    return fc.constantFrom(
      ...(mark.sibling ? [...new Set(keys.map((key) => key.split('/').at(-1) ?? ''))] : keys),
    )
  }
  if (schema.enum) return fc.constantFrom(...schema.enum.filter((value) => value !== null))
  const type = [schema.type].flat().find((one) => one !== 'null')
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') return fc.constantFrom(...integers(schema))
  if (type === 'string') return textOf(schema)
  if (type === 'array') {
    const items = thrownFor(schema.items ?? {})
    return schema['x-set']
      ? fc.uniqueArray(items, { maxLength: 3, selector: (item) => JSON.stringify(item) })
      : fc.array(items, { maxLength: 3 })
  }
  if (type !== 'object') return fc.constantFrom('anything', 1, true)
  if (schema.properties) return objectOf(schema, () => true)
  const [inner = {}] = [
    ...Object.values(schema.patternProperties ?? {}),
    ...(typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []),
  ]
  return fc.dictionary(fc.constantFrom('a', 'b.c', 'd e', 'true', '7', `\${e}`), thrownFor(inner), {
    maxKeys: 2,
  })
}

const objectOf = (
  schema: JsonSchema,
  wanted: (name: string) => boolean,
): fc.Arbitrary<Record<string, unknown>> => {
  const fields = Object.entries(schema.properties ?? {}).filter(
    ([name, inner]) => wanted(name) && isStored(inner),
  )
  const isNeeded = ([name, inner]: (typeof fields)[number]): boolean =>
    schema.required?.includes(name) === true && !('default' in inner)
  return fc
    .tuple(
      ...fields.map((field) => {
        const value = thrownFor(field[1]).map((found) => ({ found }))
        return isNeeded(field) ? value : fc.oneof(fc.constant(null), fc.constant(null), value)
      }),
    )
    .map((values) =>
      Object.fromEntries(
        values.flatMap((value, i) => (value ? [[fields[i]?.[0] ?? '', value.found]] : [])),
      ),
    )
}

/** Parents are mostly of one name, so that their children have one. */
const ownNames = (kind: Kind): string[] =>
  (childrenOf(kind).length > 0 ? [1, 1, 1, 2, 2, 3, 4] : [1, 2, 3, 4]).map(
    (n) => `${kind.kind}-${n}`,
  )
/** Seeds of every realm that a file may change; the client of the command line can neither be changed nor renamed. */
export const changeableSeeds = seeds.filter(({ key }) => key !== commandLineId)
const bornNames = (kind: Kind): string[] =>
  changeableSeeds.filter((seed) => seed.kind === kind).map(({ key }) => key)

/** Mostly near the root, because what stands below nothing is taken out. */
const treeKeys = ['/T1', '/T1', '/T2', '/T3', '/T1/T2', '/T1/T3', '/T2/T1', '/T1/T2/T3']

/** The keys that documents of a kind may get here; references choose among them. */
export const keysOf = (kind: Kind): string[] => {
  if (kind.shape === 'tree') return treeKeys
  if (kind.shape === 'child')
    return ownNames(kindNamed(kind.parentKind ?? '')).flatMap((parent) =>
      ['x', 'y', 'z'].map((name) => `${parent}/${name}`),
    )
  return [...bornNames(kind).slice(0, 2), ...ownNames(kind)]
}

/** The values of the fields that make the key. */
const keyFieldsOf = (kind: Kind): fc.Arbitrary<Record<string, unknown>> => {
  const [field = '', ...others] = kind.keyFields
  if (kind.shape === 'singleton') return fc.constant({})
  if (others.length === 0 && kind.parentKind === null)
    return fc.constantFrom(...keysOf(kind)).map((name) => ({ [field]: name }))
  return fc.record(
    Object.fromEntries(
      kind.keyFields.map((name) => {
        const schema = kind.spec.properties?.[name] ?? {}
        const born = changeableSeeds.flatMap((seed) => (seed.kind === kind ? [seed.doc[name]] : []))
        return [
          name,
          schema.enum || schema['pattern']
            ? thrownFor(schema)
            : fc.constantFrom(...born.slice(0, 2), ...ownNames(kind)),
        ]
      }),
    ),
  ) as fc.Arbitrary<Record<string, unknown>>
}

/** Of children and trees the place decides name and parent. */
const placeOf = (kind: Kind): fc.Arbitrary<{ parent?: string; fields: Doc }> => {
  const [field = ''] = kind.keyFields
  if (kind.parentKind === null) return keyFieldsOf(kind).map((fields) => ({ fields }))
  return fc.constantFrom(...keysOf(kind)).map((key) => {
    const cut = key.lastIndexOf('/')
    return { parent: key.slice(0, cut), fields: { [field]: key.slice(cut + 1) } }
  })
}

const secretsOf = (kind: Kind): fc.Arbitrary<Record<string, string>> => {
  const fields = secretFields(kind)
  const names = (store: string, format: unknown): string[] =>
    store === 'initial'
      ? ['INITIAL']
      : Object.keys(environment).filter((name) =>
          name.startsWith(format === 'password-hash' ? 'HASH' : 'SECRET'),
        )
  return fc
    .tuple(
      ...fields.map(({ pointer, mark }) => {
        const format = kind.spec.properties?.[pointer.slice(1)]?.format
        // A password that is given has to be hashed, which takes its time.
        const freq = mark.store === 'initial' ? 12 : 2
        return fc
          .option(fc.constantFrom(...names(mark.store, format)), { freq: 1, nil: null })
          .chain((name) => fc.nat(freq).map((n) => (n === 0 ? name : null)))
      }),
    )
    .map((values) =>
      Object.fromEntries(
        values.flatMap((name, i) => (name === null ? [] : [[fields[i]?.pointer ?? '', name]])),
      ),
    )
}

export const itemOf = (kind: Kind): fc.Arbitrary<Item> =>
  fc
    .record({
      place: placeOf(kind),
      rest: objectOf(kind.spec, (name) => !kind.keyFields.includes(name)),
      secrets: secretsOf(kind),
      protected: fc.nat(24).map((n) => n === 13 && kind.shape !== 'singleton'),
      rename: fc.nat(9),
      withLists: fc.nat(4).map((n) => n > 0),
    })
    .map(({ place, rest, ...more }) => {
      const item = tuned(kind, { ...place.fields, ...rest }, more.secrets)
      return { kind: kind.kind, key: keyOf(kind, item.doc, place.parent), ...more, ...item }
    })
