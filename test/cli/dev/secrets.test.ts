/** Secrets that dev makes up, where it keeps them, and whose passwords it shows. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeSecret, openMadeUpSecrets } from '#cli/dev/made-up-secrets.ts'
import { environmentNames, testUsers } from '#cli/dev/test-users.ts'
import type { Loaded } from '#cli/load/loaded.ts'
import { flatten } from '#schemas/realm/realm-document.ts'

const emptyFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-secrets-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const loadedWith = (users: readonly object[]): Loaded => ({
  realms: [
    {
      realm: 'acme',
      value: { users },
      flat: flatten({ users }),
      placeOf: () => undefined,
      files: [],
      parts: [],
      elsewhere: [],
    },
  ],
  diagnostics: [],
  textOf: () => undefined,
})

describe('a secret that is made up', () => {
  it('is long enough for a client and mixed enough for a password policy', () => {
    for (let i = 0; i < 200; i += 1) {
      const secret = makeSecret()
      expect(secret.length).toBeGreaterThanOrEqual(32)
      for (const characters of [/[a-z]/g, /[A-Z]/g, /[0-9]/g, /[^a-zA-Z0-9]/g])
        expect(secret.match(characters)?.length ?? 0).toBeGreaterThanOrEqual(4)
    }
    expect(new Set(Array.from({ length: 50 }, makeSecret)).size).toBe(50)
  })

  it('stays the same in the next run, in a file that only its owner may read', () => {
    const folder = emptyFolder()
    const first = openMadeUpSecrets(folder)
    expect(first.ensure(['A', 'B', 'A'])).toEqual(['A', 'B'])
    expect(first.ensure(['B', 'C'])).toEqual(['C'])
    const second = openMadeUpSecrets(folder)
    expect(second.ensure(['A', 'B', 'C'])).toEqual([])
    for (const name of ['A', 'B', 'C']) expect(second.valueOf(name)).toBe(first.valueOf(name))
    expect(statSync(second.file).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(second.file, 'utf8'))).toHaveProperty('A', first.valueOf('A'))
  })

  it('is made for every name that the files take from the environment', () => {
    const loaded = loadedWith([
      // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
      { username: 'a', initialPassword: '${env:ONE}' },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
      { username: 'b', attributes: { note: ['$${env:ESCAPED}', '${env:TWO}'] } },
    ])
    expect([...environmentNames(loaded)]).toEqual(['ONE', 'TWO'])
  })
})

describe('the password of a test user', () => {
  const users = loadedWith([
    { username: 'literal', initialPassword: 'a word in the file' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
    { username: 'made-up', initialPassword: '${env:MADE_UP}' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
    { username: 'real', initialPassword: '${env:REAL}' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
    { username: 'file', initialPassword: '${file:password.txt}' },
    { username: 'none' },
  ])
  const shown = testUsers(users, (name) => (name === 'MADE_UP' ? 'made-up-value' : undefined))

  it('is shown where it stands in the files or was made up here', () => {
    expect(shown.slice(0, 2)).toEqual([
      { realm: 'acme', username: 'literal', password: 'a word in the file', from: null },
      { realm: 'acme', username: 'made-up', password: 'made-up-value', from: null },
    ])
  })

  it('is not shown where it comes from the environment or another file', () => {
    expect(shown.slice(2)).toEqual([
      // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
      { realm: 'acme', username: 'real', password: null, from: '${env:REAL}' },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
      { realm: 'acme', username: 'file', password: null, from: '${file:password.txt}' },
    ])
  })
})
