/** Names that every object inherits (`constructor`, `__proto__`) are names like others, wherever a person may write one (CWE-1321). */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type CliResult, newHome } from '../../support/processes/cli.ts'

const names = Object.getOwnPropertyNames(Object.prototype)
/** A function, one that is called, one that checks, and the one that is an accessor: each has been a fault of its own kind. */
const samples = ['constructor', 'toString', 'hasOwnProperty', '__proto__']

const quoted = (name: string): string => JSON.stringify(name)

/** Realm files, by the place of the name in them. */
const files: Readonly<Record<string, (name: string) => string>> = {
  'a section that is a list': (name) => `${quoted(name)}: []`,
  'a section that is a map': (name) => `${quoted(name)}: { a: 1 }`,
  'a field': (name) => `clients:\n  - { clientId: web, ${quoted(name)}: 1 }`,
  'a field of settings': (name) => `settings: { ${quoted(name)}: { a: 1 } }`,
  'a nested field': (name) => `settings: { passwordPolicy: { ${quoted(name)}: 1 } }`,
  'a field of a list that is a map': (name) => `roles: { ${quoted(name)}: { name: x } }`,
  'a merged field': (name) => `settings: { <<: { ${quoted(name)}: 1 } }`,
  'a value of a list of choices': (name) =>
    `clients:\n  - { clientId: web, grantTypes: [${quoted(name)}] }`,
  'a driver': (name) =>
    `identityProviders:\n  - { alias: a, providerId: ${quoted(name)} }\nmessagingProviders:\n  - { name: m, channel: EMAIL, driver: ${quoted(name)} }`,
  'an authenticator': (name) =>
    `flows:\n  - alias: f\n    authenticationExecutions: [{ authenticator: ${quoted(name)}, requirement: REQUIRED, config: { ${quoted(name)}: "1" } }]`,
  'a variable without a value': (name) => `settings: { displayName: "\${var:${name}}" }`,
  'a kind of reference': (name) => `settings: { displayName: "\${${name}:x}" }`,
  'a tag': (name) => `settings: { displayName: !!${name} x }`,
}

/** Command lines that are refused, by the place of the name in them. */
const commandLines: Readonly<Record<string, (name: string) => readonly string[]>> = {
  'a command': (name) => [name],
  'a command below another': (name) => ['context', name],
  'a flag': (name) => ['validate', `--${name}=1`],
  'an output format': (name) => ['validate', '-o', name],
  'a kind to get': (name) => ['get', name],
  'a kind to delete': (name) => ['delete', name, 'x'],
  'a kind to explain': (name) => ['explain', name],
  'a field to explain': (name) => ['explain', `client.${name}`],
  'a nested field to explain': (name) => ['explain', `settings.passwordPolicy.${name}`],
  'a kind to reconcile': (name) => ['reconcile', '--once', '--only', name],
  'a template': (name) => ['init', 'new', '--template', name],
  'a shell': (name) => ['completion', name],
  'a context': (name) => ['whoami', '--context', name],
  'a file': (name) => ['validate', name],
}

const newFolder = (contents: Readonly<Record<string, string>> = {}) => {
  const home = newHome({ IAMCTL_SERVER: 'http://127.0.0.1:9', IAMCTL_TOKEN: 'x' })
  onTestFinished(home.remove)
  for (const [file, text] of Object.entries({ 'iamctl.yaml': '', ...contents })) {
    mkdirSync(dirname(join(home.folder, file)), { recursive: true })
    writeFileSync(join(home.folder, file), text)
  }
  return home
}

const expectWords = ({ stderr }: CliResult): void =>
  expect(stderr).not.toMatch(/\n\s+at |native code|\[object/)

/** A realm for each text; the problems that `validate` finds in their files, in the order of the texts. */
const problemsIn = async (texts: readonly string[]): Promise<readonly string[]> => {
  const realms = texts.map((text, n) => [`realms/r${n}.yaml`, `realm: r${n}\n${text}\n`])
  const { run } = newFolder(Object.fromEntries(realms))
  const result = await run(['validate'])
  expectWords(result)
  expect(result.code).toBe(3)
  const lines = (result.stdout + result.stderr).split('\n')
  return texts.map(
    (_, n) => lines.find((line) => new RegExp(`r${n}\\.yaml:\\d+:\\d+`).test(line)) ?? 'none',
  )
}

it('no name that objects inherit is a section', async () => {
  const problems = await problemsIn(names.map((name) => `${quoted(name)}: []`))
  for (const [n, name] of names.entries()) expect(problems[n]).toContain(name)
})

describe.each(samples)('%s', (name) => {
  it('in a realm file is refused with its line', async () => {
    const places = Object.keys(files)
    const problems = await problemsIn(Object.values(files).map((text) => text(name)))
    expect(places.filter((_, n) => problems[n] === 'none')).toEqual([])
  })

  it('on the command line is refused in words', async () => {
    const { run } = newFolder()
    for (const [place, words] of Object.entries(commandLines)) {
      const result = await run(words(name))
      expectWords(result)
      expect({ place, code: result.code }).not.toEqual({ place, code: 0 })
      expect(result.stdout + result.stderr).not.toBe('')
    }
  })

  it('as a variable has the value that is given, and of the environment none that is not set', async () => {
    const realm = `realm: acme\nsettings: { displayName: "\${var:${name}}" }\n`
    const isVariable = /^[A-Za-z_]/.test(name)
    const { run, folder } = newFolder({ 'realms/a.yaml': realm, 'v.yaml': `${quoted(name)}: x\n` })
    const given = await run(['validate', '--var', `${name}=x`])
    expectWords(given)
    expect(given.code).toBe(isVariable ? 0 : 3)
    expectWords(await run(['validate', '--var-file', 'v.yaml']))
    const secret = `realm: acme\nclients:\n  - { clientId: web, secret: "\${env:${name}}" }\n`
    writeFileSync(join(folder, 'realms', 'a.yaml'), secret)
    const unset = await run(['apply', '--auto-approve'])
    expect(unset.code).toBe(3)
    expect(unset.stderr).toContain(`the environment variable ${name} is not set`)
  })

  it('as a key of iamctl.yaml is refused, and as the name of a context is one', async () => {
    const { run, folder } = newFolder()
    const estate = join(folder, 'iamctl.yaml')
    for (const text of [`${quoted(name)}: { a: 1 }`, `guards: { ${quoted(name)}: 1 }`]) {
      writeFileSync(estate, text)
      const result = await run(['validate'])
      expectWords(result)
      expect(result.code).toBe(3)
    }
    writeFileSync(estate, '')
    const context = ['context', 'set', name, '--server', 'http://127.0.0.1:9', '--realm', 'acme']
    expect((await run(context)).code).toBe(0)
    const listed = await run(['context', 'list', '-o', 'json'])
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name, realm: 'acme' }])
    expect((await run(['context', 'delete', name])).code).toBe(0)
  })
})
