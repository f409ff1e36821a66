/** Validation as a whole: everything in one run, from files alone, and with codes that are all on the list. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codes } from '#cli/validate/codes.ts'
import { createValidator } from '#cli/validate/validate.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { kinds } from '#schemas/registry.ts'
import { distance, nearest } from '#schemas/text/typos.ts'
import { realmView } from '#schemas/views.ts'
import { createFolder } from '../load/folder.ts'
import { check, lineOf } from './check.ts'

const root = join(import.meta.dirname, '../../..')

describe('validation', () => {
  it('finds nothing wrong in the example, with its overlay and without', async () => {
    const cwd = join(root, 'realms.example')
    using folder = createFolder({})
    for (const overlays of [[], [join(cwd, 'overlays/production')]]) {
      const loaded = await folder.load({ cwd, overlays })
      const found = createValidator().validate(loaded)
      expect(found.map(lineOf)).toEqual([])
    }
  })

  it('tells every problem of every file and realm in one run, by file and line', async () => {
    using folder = createFolder({
      'realms/a.yaml':
        'realm: a\nroles: [{ name: x, nmae: y }]\ngroups: [{ name: G, roles: [z] }]\n',
      'realms/b.yaml': 'realm: b\nsettings: { enabled: 1 }\n',
      'realms/c.yaml': 'realm: b\n  oops: [\n',
    })
    const diagnostics = createValidator().validate(await folder.load())
    expect(diagnostics.map(({ code, place }) => `${place?.file}:${place?.line} ${code}`)).toEqual([
      'realms/a.yaml:2 unknown-field',
      'realms/a.yaml:3 missing-reference',
      'realms/b.yaml:2 type',
      'realms/c.yaml:2 yaml-syntax',
    ])
  })

  it('advises lower case for names of realms, of which no two differ in case alone', async () => {
    using folder = createFolder({
      'realms/a.yaml': 'realm: My_Realm.v1\n',
      'realms/b.yaml': 'realm: plain-1\n',
      'realms/c.yaml': 'realm: Plain-1\n',
    })
    const diagnostics = createValidator().validate(await folder.load())
    expect(diagnostics.map(({ code, place }) => `${place?.file}:${place?.line} ${code}`)).toEqual([
      'realms/a.yaml:1 realm-name-form',
      'realms/c.yaml:1 realm-name-case',
      'realms/c.yaml:1 realm-name-form',
    ])
  })

  it('asks of an entry for a built-in document only what it changes, of any other all that is required', async () => {
    const template = (key: string) =>
      `realm: a\nmessageTemplates: [{ templateKey: ${key}, channel: EMAIL, subject: Hello }]\n`
    expect((await check(template('otp-email'))).diagnostics).toEqual([])
    expect((await check(template('welcome'))).diagnostics).toMatchObject([{ code: 'required' }])
  })

  it('reports a field that no identity provider has once', async () => {
    const { diagnostics } = await check(
      'realm: a\nidentityProviders: [{ alias: x, protocol: oidc, config: { issuer: https://i.example, clientId: x, isuer: y } }]\n',
    )
    const unknown = diagnostics.filter(({ code }) => code === 'unknown-field')
    expect(unknown).toMatchObject([{ hint: 'did you mean "issuer"?' }])
  })

  it('points into the file that a part of a realm stands in, also of an overlay', async () => {
    using folder = createFolder({
      'realms/a.yaml': 'realm: a\nroles: [{ name: support }]\n',
      'realms/b.yaml': 'realm: a\ngroups:\n  - { name: Staff, roles: [support] }\n',
      'over/x.yaml': 'realm: a\ngroups:\n  - name: Staff\n    roles: [suport]\n',
    })
    expect(createValidator().validate(await folder.load())).toEqual([])
    const loaded = await folder.load({ overlays: ['over'] })
    expect(createValidator().validate(loaded)).toMatchObject([
      { code: 'missing-reference', place: { file: 'over/x.yaml', line: 4, column: 13 } },
    ])
  })

  it('looks up no secret: neither variables, nor files, nor commands', async () => {
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is what people write
    using folder = createFolder({
      'realms/a.yaml': [
        'realm: a',
        'clients:',
        '  - clientId: one',
        '    secret: ${env:NOT_SET_ANYWHERE}',
        '  - clientId: two',
        '    secret: ${file:not-there}',
        '  - clientId: three',
        '    secret: ${exec:touch was-run}',
        '',
      ].join('\n'),
    })
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is what people write
    const env = new Proxy(
      {},
      { get: (_, name) => (String(name).startsWith('NOT') ? fail() : undefined) },
    )
    expect(createValidator().validate(await folder.load({ env }))).toEqual([])
    expect(existsSync(join(folder.path, 'was-run'))).toBe(false)
  })

  it('takes a whole realm file of thousands of wrong entries', async () => {
    const users = Array.from(
      { length: 2000 },
      (_, i) => `  - { username: u${i}, roles: [usr], x: 1 }`,
    )
    const { diagnostics } = await check(`realm: a\nroles: []\nusers:\n${users.join('\n')}\n`)
    expect(diagnostics).toHaveLength(4000)
    expect(diagnostics.at(-1)).toMatchObject({ place: { line: 2003 } })
  })

  it('names no value of a secret in any message or hint', async () => {
    const { diagnostics } = await check(
      'realm: a\nclients:\n  - { clientId: w, secret: hunter2 }\n  - { clientId: v, secret: 31337 }\n',
    )
    expect(diagnostics.length).toBeGreaterThan(2)
    expect(JSON.stringify(diagnostics)).not.toMatch(/hunter2|31337/)
  })
})

const fail = (): never => {
  throw new Error('a variable was asked for')
}

describe('the list of codes', () => {
  it('has each once, with its meaning', () => {
    expect(new Set(codes.map(({ code }) => code)).size).toBe(codes.length)
    for (const { meaning } of codes) expect(meaning).toMatch(/^\S.{5,90}[^.]$/)
  })

  it('has every keyword by which a realm file can be wrong', () => {
    const own = new Set(['const', 'discriminator'])
    const assertions =
      /^(type|enum|const|format|pattern|required|minimum|maximum|(min|max)(Length|Items|Properties)|uniqueItems|oneOf|anyOf|not)$/
    const found = new Set<string>()
    const visit = (schema: JsonSchema): void => {
      for (const [keyword, value] of Object.entries(schema))
        if (assertions.test(keyword) && !own.has(keyword) && !isVacuous(keyword, value))
          found.add(keyword)
      for (const inner of Object.values(schema.properties ?? {})) visit(inner)
      for (const inner of Object.values((schema['$defs'] ?? {}) as Record<string, JsonSchema>))
        visit(inner)
      if (schema.items) visit(schema.items)
    }
    visit(realmView(kinds))
    const listed = new Set(codes.map(({ code }) => code))
    expect([...found].filter((keyword) => !listed.has(keyword))).toEqual([])
  })

  it('has every code that the files are given when they are read', () => {
    const folder = join(root, 'cli/load')
    const text = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('\n')
    const words = text.matchAll(
      /'((?:yaml|file|realm|duplicate|variable|overlay|reference|secret|estate)-[a-z-]+)'/g,
    )
    const listed = new Set(codes.map(({ code }) => code))
    const missing = [...words].map(([, word = '']) => word).filter((word) => !listed.has(word))
    expect([...new Set(missing)]).toEqual([])
  })
})

/** `required: []` asks for nothing. */
const isVacuous = (keyword: string, value: unknown): boolean =>
  keyword === 'required' && Array.isArray(value) && value.length === 0

describe('what was meant', () => {
  it.each([
    ['nmae', 'name'],
    ['redirect_uris', 'redirectUris'],
    ['Redirect-URIs', 'redirectUris'],
    ['clientid', 'clientId'],
    ['enabeld', 'enabled'],
  ])('by %s is %s', (word, meant) => {
    expect(nearest(word, ['enabled', 'name', 'clientId', 'redirectUris'])).toBe(meant)
  })

  it.each(['x', 'zebra', 'redirect', ''])('by %j is unknown', (word) => {
    expect(nearest(word, ['enabled', 'name', 'clientId', 'redirectUris'])).toBeUndefined()
  })

  it('is the closest of several', () => {
    expect(nearest('role', ['rule', 'roles', 'role2', 'rolle'])).toBe('rule')
    expect(nearest('roless', ['rule', 'roles'])).toBe('roles')
  })

  it('is found by counting what must be changed, up to a limit', () => {
    expect(distance('kitten', 'sitting')).toBe(3)
    expect(distance('ab', 'ba')).toBe(1)
    expect(distance('', 'abc')).toBe(3)
    expect(distance('kitten', 'sitting', 2)).toBeGreaterThan(2)
    expect(distance('kitten', 'a much longer word', 2)).toBe(Number.POSITIVE_INFINITY)
  })
})
