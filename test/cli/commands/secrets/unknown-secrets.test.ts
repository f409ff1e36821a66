/**
 * A plan-only credential needs none of the secrets that the files take from the environment: a job of a pull request
 * holds no secret of an apply.
 */
import { describe, expect, it } from 'vitest'
import type { Cli } from '../../../support/processes/cli.ts'
import { type Estate, newEstate, newRealm } from '../fixture/estate.ts'
import { freshHome, sharedWorld } from '../fixture/fixture.ts'
import { newValues, realmWith, secretDocuments } from './secret-documents.ts'

const world = sharedWorld()

const from = (name: string): string => `"\${env:${name}}"`
const unset = (name: string): string => `(unknown: \${env:${name}} is not set)`

const own = {
  PIPELINE: 'pipeline-secret-0123456789-0123456789',
  PULLS: 'pulls-secret-0123456789-0123456789',
}

/** One client that applies, and two that may only plan: by the field, and by the scope. */
const clients = (realm: string): string => {
  const audience = `${world().server.url}/admin`
  const client = (clientId: string, more: string) =>
    `  - { clientId: ${clientId}, grantTypes: [client_credentials], serviceAccountsEnabled: true, serviceAccountRoles: [deployer], audiences: ["${audience}"], ${more} }\n`
  return (
    `realm: ${realm}\nclientScopes:\n  - { name: admin:plan }\nroles:\n  - { name: deployer, permissions: [realm-admin] }\nclients:\n` +
    client('deploy', `secret: ${from('PIPELINE')}`) +
    client('by-field', `adminAccess: plan, secret: ${from('PULLS')}`) +
    client('by-scope', `defaultScopes: [admin:plan], secret: ${from('PULLS')}`)
  )
}

const as = (
  estate: Estate,
  realm: string,
  clientId: string,
  env: Readonly<Record<string, string>> = {},
) => {
  const home = freshHome(world(), {
    IAMCTL_AUTH_REALM: realm,
    IAMCTL_CLIENT_ID: clientId,
    IAMCTL_CLIENT_SECRET: clientId === 'deploy' ? own.PIPELINE : own.PULLS,
    ...env,
  })
  return (command: string, ...args: string[]): ReturnType<Cli> =>
    home.run([...command.split(' '), ...args], { cwd: estate.folder })
}

const setUp = async (more = '') => {
  const realm = newRealm()
  const values = {
    ...own,
    API: 'api-secret-0123456789-0123456789-012345',
    HOOK: 'hook-secret-0123456789',
  }
  const file = (rest: string) => `${clients(realm)}${rest}`
  const base = `  - { clientId: api, secret: "\${env:API}" }\nscimTargets:\n  - { name: hook, baseUrl: "https://hook.example/scim", token: "\${env:HOOK}" }\n${more}`
  const estate = newEstate(world(), { 'realm.yaml': file(base) }, values)
  const applied = await estate.run('apply realm.yaml --auto-approve')
  expect(applied.code, applied.stderr).toBe(0)
  return { realm, values, estate, file, base }
}

describe.each(['by-field', 'by-scope'])('a client that may only plan (%s)', (clientId) => {
  it('plans without the secrets of the files, and says which are not known', async () => {
    const { realm, estate, file, base } = await setUp()
    const run = as(estate, realm, clientId)
    const same = await run('plan realm.yaml --detailed-exitcode')
    expect(same.code, same.stderr).toBe(0)
    expect(same.stdout).toContain('No changes')
    for (const name of ['API', 'HOOK', 'PIPELINE', 'PULLS'])
      expect(same.stdout).toContain(`\${env:${name}} is not set`)
    const drift = await run('drift realm.yaml')
    expect(drift.code, drift.stderr).toBe(0)

    // A new client, and a target whose stored token must be given again because it goes elsewhere.
    const moved = base.replace('hook.example', 'other.example')
    estate.write({
      'realm.yaml': file(`  - { clientId: newcomer, secret: "\${env:NEWCOMER}" }\n${moved}`),
    })
    const planned = await run('plan realm.yaml --out saved.plan')
    expect(planned.code, planned.stderr).toBe(0)
    expect(planned.stdout).toContain(unset('NEWCOMER'))
    expect(planned.stdout).toContain(unset('HOOK'))
    expect(planned.stdout).toContain('1 to add, 1 to change, 0 to destroy')
    const markdown = await run('plan realm.yaml -o markdown')
    expect(markdown.code).toBe(0)
    expect(markdown.stdout).toContain(unset('NEWCOMER'))
    const json = JSON.parse((await run('plan realm.yaml -o json')).stdout)
    expect(json.realms[0].unknownSecrets).toContainEqual({
      kind: 'client',
      key: 'api',
      pointer: '/secret',
      source: { from: 'env', name: 'API' },
    })
  })
})

describe('a plan that was saved without the secrets', () => {
  const change = async () => {
    const made = await setUp()
    const { realm, estate, file, base } = made
    estate.write({
      'realm.yaml': file(`  - { clientId: newcomer, secret: "\${env:NEWCOMER}" }\n${base}`),
    })
    const planned = await as(estate, realm, 'by-field')('plan realm.yaml --out saved.plan')
    expect(planned.code, planned.stderr).toBe(0)
    const all = { ...made.values, NEWCOMER: 'newcomer-secret-0123456789-0123456789' }
    return { ...made, all }
  }

  it('is not applied without every one of them, those that were not compared included', async () => {
    const { realm, estate, all } = await change()
    for (const name of ['NEWCOMER', 'API'] as const) {
      const { [name]: _, ...rest } = all
      const { code, stderr } = await as(
        estate,
        realm,
        'deploy',
        rest,
      )('apply --plan saved.plan --auto-approve')
      expect(code, stderr).toBe(3)
      expect(stderr).toContain(`the environment variable ${name} is not set`)
    }
    const done = await as(estate, realm, 'deploy', all)('apply --plan saved.plan --auto-approve')
    expect(done.code, done.stderr).toBe(0)
    const after = await as(estate, realm, 'deploy', all)('plan realm.yaml --detailed-exitcode')
    expect(after.code, after.stdout).toBe(0)
  })

  it('is refused as stale where a secret differs that it could not compare', async () => {
    const { realm, estate, all } = await change()
    const env = { ...all, API: 'another-secret-0123456789-0123456789-0' }
    const { code, stderr } = await as(
      estate,
      realm,
      'deploy',
      env,
    )('apply --plan saved.plan --auto-approve')
    expect(code, stderr).toBe(6)
    expect(stderr).toContain('client "api"')
  })
})

describe('an apply', () => {
  it('demands every secret before the first request', async () => {
    const { realm, estate } = await setUp()
    const { code, stderr } = await as(
      estate,
      realm,
      'by-field',
    )('apply realm.yaml --auto-approve --debug')
    expect(code).toBe(3)
    expect(stderr).toContain('the environment variable API is not set')
    expect(stderr).not.toMatch(/debug: (GET|POST)/)
  })
})

describe('a credential that may apply', () => {
  it('plans only with every secret at hand', async () => {
    const { realm, estate } = await setUp()
    for (const command of ['plan realm.yaml', 'drift realm.yaml']) {
      const { code, stderr } = await as(estate, realm, 'deploy')(command)
      expect(code, command).toBe(3)
      expect(stderr).toContain('the environment variable API is not set')
      // `validate` asks for no secret and would find nothing.
      expect(stderr).toMatch(/^iamctl: secrets of the files have no value: /m)
      expect(stderr).not.toContain('iamctl validate')
      const lines = [...stderr.matchAll(/^realm\.yaml:(\d+):\d+: error/gm)].map(([, line]) =>
        Number(line),
      )
      expect(lines).toEqual(lines.toSorted((a, b) => a - b))
    }
  })
})

describe('a plan without secrets', () => {
  it('knows every secret of every kind as unknown, of documents that are new and that are there', async () => {
    const { realm, estate, file, base } = await setUp()
    const run = as(estate, realm, 'by-field')
    const text = JSON.parse(realmWith(realm))
    // The client of this list has a name of its own.
    text.clients = text.clients.map((one: object) => ({ ...one, clientId: 'generated' }))
    estate.write({ 'more.json': JSON.stringify(text), 'realm.yaml': file(base) })
    const first = await run('plan realm.yaml more.json -o json')
    expect(first.code, first.stderr + first.stdout).toBe(0)
    const unknown = (stdout: string): string[] =>
      JSON.parse(stdout).realms[0].unknownSecrets.map(
        (one: { source: { name: string } }) => one.source.name,
      )
    for (const { variable } of secretDocuments) expect(unknown(first.stdout)).toContain(variable)
    const values = {
      ...own,
      ...newValues(),
      API: 'api-secret-0123456789-0123456789-012345',
      HOOK: 'hook-secret-0123456789',
    }
    const applied = await as(
      estate,
      realm,
      'deploy',
      values,
    )('apply realm.yaml more.json --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    const second = await run('plan realm.yaml more.json --detailed-exitcode')
    expect(second.code, second.stdout).toBe(0)
  })
})
