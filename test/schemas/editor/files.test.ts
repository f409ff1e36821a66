/**
 * The schemas for editors accept the example files and all that `iamctl validate` accepts, by a third-party
 * implementation of JSON Schema.
 */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Schema, Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { placeKey } from '#cli/planning/names.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import { born } from '../../cli/planning/paper-server.ts'
import { mended, rawRealm, settled } from '../../cli/planning/realms.ts'
import { check } from '../../cli/validate/check.ts'

const root = join(import.meta.dirname, '../../..')

const validators = new Map<string, Validator>()
const validatorOf = (name: string): Validator => {
  const text = readFileSync(join(root, `schemas/editor/${name}.schema.json`), 'utf8')
  const validator =
    validators.get(name) ?? new Validator(JSON.parse(text) as Schema, '2020-12', false)
  validators.set(name, validator)
  return validator
}

const faultsOf = (schema: string, value: unknown): string[] => {
  const { valid, errors } = validatorOf(schema).validate(value)
  return valid ? [] : errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`)
}

interface Written {
  readonly name: string
  readonly schema: string
  readonly value: unknown
}

const schemaOf = (name: string, value: Record<string, unknown>): string =>
  'source' in value || 'contexts' in value || 'paths' in value
    ? 'estate'
    : name.includes('overlays/')
      ? 'overlay'
      : 'realm'

const realmSections = (
  JSON.parse(readFileSync(join(root, 'schemas/editor/realm.schema.json'), 'utf8')) as {
    properties: Record<string, unknown>
  }
).properties

/** What `iamctl init` puts into a template. */
const filled = (text: string): string =>
  text.replaceAll('__SERVER__', 'https://iam.example').replace(/__[A-Z_]+__/g, 'acme')

const files: Written[] = [
  'realms.example/**/*.yaml',
  'templates/realms/**/*.yaml',
  'templates/ci/*-pipeline.yaml',
]
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .flatMap((name) =>
    parseAllDocuments(filled(readFileSync(join(root, name), 'utf8'))).map((document) => {
      const value = document.toJS()
      return { name, schema: schemaOf(name, value), value }
    }),
  )

/** Blocks of guides that are parts of a realm or of an estate; a part of a realm leaves its name out. */
const blocks: Written[] = ['README.md', 'docs/**/*.md', 'templates/**/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .flatMap((name) =>
    [...readFileSync(join(root, name), 'utf8').matchAll(/^```ya?ml\n(.*?)^```/gms)].flatMap(
      ([, text = ''], i): Written[] => {
        const value = parse(text) as Record<string, unknown>
        const isOurs = Object.keys(value).some((key) => key in realmSections || key === 'source')
        // A block that opens with the name of its file is checked as that file.
        const schema = schemaOf(/^# (\S+)\n/.exec(text)?.[1] ?? name, value)
        const whole = schema === 'realm' ? { realm: 'acme', ...value } : value
        return isOurs ? [{ name: `${name}, block ${i + 1}`, schema, value: whole }] : []
      },
    ),
  )

describe('the schemas for editors', () => {
  it('find our files', () => {
    expect(files.length).toBeGreaterThan(12)
    expect(blocks.length).toBeGreaterThan(4)
    expect(new Set(files.map(({ schema }) => schema))).toEqual(
      new Set(['realm', 'overlay', 'estate']),
    )
  })

  it.each([...files, ...blocks])('accept $name', ({ schema, value }) => {
    expect(faultsOf(schema, value)).toEqual([])
  })

  it.each([
    ['an unknown field', { realm: 'acme', clients: [{ clientId: 'web', redirectUri: [] }] }],
    ['a missing name', { realm: 'acme', clients: [{ publicClient: true }] }],
    ['a short secret', { realm: 'acme', clients: [{ clientId: 'web', secret: 'short' }] }],
    ['a wrong type', { realm: 'acme', clients: [{ clientId: 'web', enabled: 'perhaps' }] }],
    [
      'a template that is not built in and has no body',
      {
        realm: 'acme',
        messageTemplates: [{ channel: 'EMAIL', name: 'nonesuch', locale: 'xx' }],
      },
    ],
    [
      'an entry to be removed, outside of an overlay',
      {
        realm: 'acme',
        users: [{ username: 'ann', remove: true }],
      },
    ],
  ])('refuse %s', (_what, value) => {
    expect(faultsOf('realm', value)).not.toEqual([])
  })

  /** Whether `iamctl validate` takes it; the schema must then. */
  const isAccepted = async (value: Doc): Promise<boolean> => {
    const text = JSON.stringify(value)
    const names = [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => name)
    const { diagnostics } = await check(
      text,
      Object.fromEntries(names.map((name) => [name, something])),
    )
    if (diagnostics.some(({ severity }) => severity === 'error')) return false
    expect(faultsOf('realm', value)).toEqual([])
    return true
  }

  it('accept what validate accepts of generated realms', async () => {
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(rawRealm, fc.infiniteStream(fc.nat()), async (raw, numbers) => {
        const value = changed({ realm: 'acme', ...whole(raw) }, numbers)
        if (await isAccepted(value)) accepted += 1
      }),
      { numRuns: 200 },
    )
    expect(accepted).toBeGreaterThan(5)
  })

  it('accept what validate accepts of our files, with one value changed', async () => {
    const realms = files
      .filter(({ schema }) => schema === 'realm')
      .map(({ value }) => JSON.stringify(value).replace(/\$\{var:\w+\}/g, 'https://shop.example'))
      .map((text) => JSON.parse(text) as Doc)
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...realms),
        fc.infiniteStream(fc.nat()),
        async (value, numbers) => {
          if (await isAccepted(changed(value, numbers))) accepted += 1
        },
      ),
      { numRuns: 400 },
    )
    expect(accepted).toBeGreaterThan(20)
  })
})

const something = 'something that is long enough for a secret'

/** A realm whose references lead somewhere. */
const whole = (raw: Doc): Doc => {
  const value = settled(raw)
  const known = new Set(
    [...born(), ...flatten(value).entries].map(({ kind, key }) => placeKey(kind.kind, key)),
  )
  return mended(value, (kind, key) => known.has(placeKey(kind, key)))
}

const reference = `\${env:SOMETHING}`
const replacements = [reference, `with ${reference}`, null, undefined]

/** One of its values, somewhere, is a reference, null, or gone. */
const changed = (
  value: Readonly<Record<string, unknown>>,
  numbers: Iterator<number>,
): Readonly<Record<string, unknown>> => {
  const next = (below: number): number => (numbers.next().value as number) % below
  const copy = structuredClone(value) as Record<string, unknown>
  const places: (() => void)[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const [name, inner] of Object.entries(node)) {
      places.push(() => {
        Object.assign(node, { [name]: replacements[next(replacements.length)] })
      })
      visit(inner)
    }
  }
  visit(copy)
  if (places.length > 0) places[next(places.length)]?.()
  return JSON.parse(JSON.stringify(copy))
}
