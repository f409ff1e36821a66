/** iamctl.yaml: found from sub-folders, validated, and every error with its place. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findEstate } from '#cli/load/estate.ts'
import { createAjv } from '#schemas/ajv.ts'
import { estateSchema } from '#schemas/realm/estate.ts'
import { brief, createFolder } from './folder.ts'

const find = async (text: string) => {
  using folder = createFolder({ 'iamctl.yaml': text })
  return await findEstate({ cwd: folder.path })
}

describe('the estate', () => {
  it('says everything that its file can say', async () => {
    using folder = createFolder({
      'iamctl.yaml': `source: shop/identity
paths: [realms, more/x.yaml]
overlays: [overlays/prod]
vars: { REGION: eu, N: 3, V: 1.10, B: true }
prune: all
guards: { maxDeletions: 5, allowEmpty: true }
contexts:
  prod: { server: https://iam.example, realm: acme, authRealm: master, username: ci }
  dev: {}
defaultContext: prod
`,
    })
    const { estate, diagnostics, textOf } = await findEstate({ cwd: folder.path })
    expect(diagnostics).toEqual([])
    expect(textOf('iamctl.yaml')).toContain('source: shop')
    const { vars, ...rest } = estate
    expect(rest).toEqual({
      root: folder.path,
      file: join(folder.path, 'iamctl.yaml'),
      source: 'shop/identity',
      paths: ['realms', 'more/x.yaml'],
      overlays: ['overlays/prod'],
      prune: 'all',
      guards: { maxDeletions: 5, allowEmpty: true },
      contexts: {
        prod: { server: 'https://iam.example', realm: 'acme', authRealm: 'master', username: 'ci' },
        dev: {},
      },
      defaultContext: 'prod',
    })
    expect([...vars]).toEqual([
      ['REGION', { value: 'eu', text: 'eu' }],
      ['N', { value: 3, text: '3' }],
      ['V', { value: 1.1, text: '1.10' }],
      ['B', { value: true, text: 'true' }],
    ])
  })

  it.each([
    ['no file', null],
    ['an empty file', ''],
    ['only comments', '# soon\n'],
  ])('has defaults with %s', async (_, text) => {
    using folder = createFolder(text === null ? {} : { 'iamctl.yaml': text })
    const { estate, diagnostics } = await findEstate({ cwd: folder.path })
    expect(diagnostics).toEqual([])
    expect(estate).toEqual({
      root: folder.path,
      file: text === null ? null : join(folder.path, 'iamctl.yaml'),
      source: null,
      paths: null,
      overlays: [],
      vars: new Map(),
      prune: 'owned',
      guards: { maxDeletions: null, allowEmpty: false },
      contexts: {},
      defaultContext: null,
    })
  })

  it('is the nearest one above, or the one that is named', async () => {
    using folder = createFolder({
      'iamctl.yaml': 'source: outer\n',
      'a/iamctl.yaml': 'source: inner\n',
      'a/b/c/x': '',
      'other.yaml': 'source: other\n',
    })
    const sourceFrom = async (cwd: string, config?: string) =>
      (await findEstate({ cwd: join(folder.path, cwd), config })).estate
    expect((await sourceFrom('a/b/c')).source).toBe('inner')
    expect((await sourceFrom('.')).source).toBe('outer')
    const named = await sourceFrom('a/b', '../../other.yaml')
    expect([named.source, named.root]).toEqual(['other', folder.path])
    mkdirSync(join(folder.path, 'd/iamctl.yaml'), { recursive: true })
    expect((await sourceFrom('d')).source).toBe('outer')
  })

  it.each([
    ['sorce: x', 'iamctl.yaml:1:1 estate-unknown-field', 'did you mean "source"?'],
    [
      'guards:\n  maxDeletion: 1',
      'iamctl.yaml:2:3 estate-unknown-field',
      'did you mean "maxDeletions"?',
    ],
    [
      'contexts:\n  p:\n    sever: x',
      'iamctl.yaml:3:5 estate-unknown-field',
      'did you mean "server"?',
    ],
    ['contexts: { "a b": {} }', 'iamctl.yaml:1:13 estate-unknown-field', undefined],
    ['prune: some', 'iamctl.yaml:1:8 estate-enum', undefined],
    ['paths: realms', 'iamctl.yaml:1:8 estate-type', undefined],
    ['paths: [x, ""]', 'iamctl.yaml:1:12 estate-minLength', undefined],
    ['source: "has space"', 'iamctl.yaml:1:9 estate-pattern', undefined],
    ['contexts: { p: { server: iam.example } }', 'iamctl.yaml:1:26 estate-format', undefined],
    ['guards: { maxDeletions: -1 }', 'iamctl.yaml:1:25 estate-minimum', undefined],
    ['guards:', 'iamctl.yaml:1:1 estate-type', undefined],
    ['vars: { A: [1] }', 'iamctl.yaml:1:12 variable-value', undefined],
    ['vars: { "a b": 1 }', 'iamctl.yaml:1:9 variable-name', undefined],
    [
      'contexts: { prod: {} }\ndefaultContext: prd',
      'iamctl.yaml:2:17 estate-context',
      'did you mean "prod"?',
    ],
    ['defaultContext: toString', 'iamctl.yaml:1:17 estate-context', undefined],
    ['[1]', 'iamctl.yaml:1:1 estate-document', undefined],
    ['source: a\n---\nsource: b', 'iamctl.yaml:3:1 estate-document', undefined],
    ['source: a\nsource: b', 'iamctl.yaml:2:1 yaml-duplicate-key', undefined],
    ['source: "a', 'iamctl.yaml:1:9 yaml-syntax', undefined],
  ])('with %j is told of its place', async (text, where, hint) => {
    const { diagnostics } = await find(text)
    expect(brief(diagnostics)).toEqual([where])
    if (hint !== undefined) expect(diagnostics[0]?.hint).toBe(hint)
  })

  it('that is named and not there is an error', async () => {
    using folder = createFolder()
    const { diagnostics } = await findEstate({ cwd: folder.path, config: 'x.yaml' })
    expect(diagnostics).toMatchObject([{ code: 'estate-file', message: 'x.yaml does not exist' }])
  })

  it('has a schema for editors that is one', () => {
    expect(() => createAjv({ checkSchemas: true }).compile(estateSchema)).not.toThrow()
  })
})
