/** Secrets from sops and secrets that are made up, with the built program: what is fetched, kept, shown, and in no argument. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Estate, newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const secret = 'a-secret-that-sops-keeps-and-nobody-sees-0123456789'

/**
 * Speaks sops's command line: opens a file of base64 as JSON. It notes how it was called, as a list of processes would
 * show it.
 */
const standIn = `#!/bin/sh
echo "$@" >> "$SOPS_CALLS"
[ "$1 $2 $3 $4" = "--decrypt --output-type json --" ] || { echo "unknown flags" >&2; exit 2; }
base64 -d "$5" || { echo "Error: no key could open $5" >&2; exit 128; }
`

/** As people write it. */
const sops = (argument: string): string => `\${sops:${argument}}`

const encrypted = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')

const estateWithSops = (reference: string): Estate & { realm: string; calls: () => string } => {
  const realm = newRealm()
  const bin = (folder: string): string => join(folder, 'bin')
  const estate = newEstate(world(), {
    'iamctl.yaml': 'source: vault\npaths: [realms]\n',
  })
  const { folder } = estate
  for (const name of ['bin', 'realms', 'secrets']) mkdirSync(join(folder, name))
  writeFileSync(join(bin(folder), 'sops'), standIn)
  chmodSync(join(bin(folder), 'sops'), 0o755)
  const content = { clients: { 'web.app': secret, api: secret }, port: 25, list: ['x', secret] }
  writeFileSync(join(folder, 'secrets/prod.yaml'), encrypted(content))
  writeFileSync(
    join(folder, 'realms/realm.yaml'),
    `realm: ${realm}\nclients:\n  - { clientId: api, secret: "${reference}" }\n  - { clientId: two, secret: "\${sops:../secrets/prod.yaml#list.1}" }\n`,
  )
  const calls = join(folder, 'calls.txt')
  const env = { PATH: `${bin(folder)}:${process.env['PATH']}`, SOPS_CALLS: calls }
  const started = newEstate(world(), {}, env)
  return {
    ...estate,
    realm,
    calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8') : ''),
    run: (command, ...args) =>
      started.run(`${command} --config ${join(folder, 'iamctl.yaml')}`, ...args),
  }
}

describe('secrets that sops keeps', () => {
  it('are opened once a file, sent, never shown, and compared without a diff that comes back', async () => {
    const estate = estateWithSops(sops('../secrets/prod.yaml#clients.web\\\\.app'))
    const { run, calls } = estate
    expect((await run('validate')).code).toBe(0)
    expect(calls()).toBe('')
    const planned = await run('plan -o json')
    expect(planned.code).toBe(0)
    expect(planned.stdout).toContain('"path": "secrets/prod.yaml"')
    expect(calls()).toBe('--decrypt --output-type json -- secrets/prod.yaml\n')
    const applied = await run('apply --auto-approve --debug')
    expect(applied).toMatchObject({ code: 0 })
    const again = await run('plan --detailed-exitcode')
    expect(again).toMatchObject({ code: 0 })
    const shown = [planned, applied, again].map(({ stdout, stderr }) => stdout + stderr).join('')
    expect(shown).not.toContain(secret)
    expect(calls()).not.toContain(secret)
  })

  it('that cannot be had are all told before the first request, with what sops says and what to do', async () => {
    const wrong = estateWithSops(sops('../secrets/prod.yaml#clients.none'))
    const missing = await wrong.run('plan')
    expect(missing.code).toBe(3)
    expect(missing.stderr).toContain('the key clients.none of secrets/prod.yaml is not there')
    writeFileSync(join(wrong.folder, 'secrets/prod.yaml'), '*** not base64 ***')
    const broken = await wrong.run('plan')
    expect(broken.code).toBe(3)
    expect(broken.stderr).toContain('sops cannot open secrets/prod.yaml (exit code 128)')
    expect(broken.stderr).toContain('no key could open')

    const { folder } = wrong
    const outside = `realm: ${wrong.realm}\nclients:\n  - { clientId: api, secret: "\${sops:../../prod.yaml#a}" }\n`
    writeFileSync(join(folder, 'realms/realm.yaml'), outside)
    expect((await wrong.run('plan')).stderr).toContain('lies outside of the estate')
    writeFileSync(
      join(folder, 'realms/realm.yaml'),
      outside.replace('../../prod.yaml#a', 'prod.yaml'),
    )
    expect((await wrong.run('validate')).stdout).toContain('does not name a key of a file')
    const plain = outside.replace(
      /clients:.*/s,
      `settings: { displayName: "${sops('../secrets/prod.yaml#port')}" }\n`,
    )
    writeFileSync(join(folder, 'realms/realm.yaml'), plain)
    expect((await wrong.run('validate')).stdout).toContain('reference-not-secret')
  })

  it('need the program, and say where it is to be had', async () => {
    const estate = estateWithSops(sops('../secrets/prod.yaml#port'))
    const bare = newEstate(world(), {}, { PATH: '/nowhere' })
    const { code, stderr } = await bare.run(`plan --config ${join(estate.folder, 'iamctl.yaml')}`)
    expect(code).toBe(3)
    expect(stderr).toContain('sops is not installed')
    expect(stderr).toContain('https://getsops.io')
  })
})

describe('apply --secrets-out', () => {
  const realmFile = (realm: string, more = ''): string =>
    `realm: ${realm}\nclients:\n  - clientId: api\n    grantTypes: [client_credentials]\n    serviceAccountsEnabled: true\n  - { clientId: spa, publicClient: true }\n${more}`

  const tokenOf = (realm: string, clientId: string, value: string) =>
    fetch(`${world().server.url}/realms/${realm}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${value}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })

  it('keeps what is made up for new clients where only its owner reads it, and it works', async () => {
    const realm = newRealm()
    const { run, folder, write } = newEstate(world(), { 'realm.yaml': realmFile(realm) })
    const file = join(folder, 'made.json')
    const applied = await run('apply realm.yaml --auto-approve --secrets-out made.json')
    expect(applied).toMatchObject({ code: 0 })
    expect(applied.stderr).toContain('generated secrets: made.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const made = JSON.parse(readFileSync(file, 'utf8'))
    expect(Object.keys(made[realm])).toEqual(['client/api'])
    const value = made[realm]['client/api'].secret
    expect(applied.stdout + applied.stderr).not.toContain(value)
    expect((await tokenOf(realm, 'api', value)).status).toBe(200)

    write({ 'realm.yaml': realmFile(realm, '  - clientId: job\n') })
    expect((await run('apply realm.yaml --auto-approve --secrets-out made.json')).code).toBe(0)
    const both = JSON.parse(readFileSync(file, 'utf8'))
    expect(both[realm]['client/api'].secret).toBe(value)
    expect(Object.keys(both[realm])).toEqual(['client/api', 'client/job'])
    expect((await run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
  })

  it('sends nothing where the file is not ours alone, and leaves none behind of what was refused', async () => {
    const realm = newRealm()
    const { run, folder, write } = newEstate(world(), { 'realm.yaml': realmFile(realm) })
    writeFileSync(join(folder, 'open.json'), '{}', { mode: 0o644 })
    symlinkSync('/dev/null', join(folder, 'link.json'))
    for (const [name, problem] of [
      ['open.json', 'chmod 600'],
      ['link.json', 'is not a file'],
    ]) {
      const refused = await run('apply realm.yaml --auto-approve --secrets-out', name ?? '')
      expect(refused).toMatchObject({ code: 1 })
      expect(refused.stderr).toContain(problem)
    }
    expect((await world().admin.send('GET', `/admin/realms/${realm}/settings`)).status).toBe(404)
    await run('apply realm.yaml --auto-approve --source another')
    write({ 'realm.yaml': realmFile(realm, '  - clientId: job\n') })
    const conflict = await run('apply realm.yaml --auto-approve --secrets-out made.json')
    expect(conflict.code).toBe(6)
    expect(existsSync(join(folder, 'made.json'))).toBe(false)
  })

  it('without it, plan and apply say that the secret is lost, and clients secret makes one that works', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': realmFile(realm) })
    const lost = /the server generates a secret for client "api" and does not show it/
    expect((await run('plan realm.yaml')).stdout).toMatch(lost)
    expect((await run('apply realm.yaml --auto-approve')).stdout).toMatch(lost)
    const hidden = await run(`clients secret api --realm ${realm}`)
    expect(hidden).toMatchObject({ code: 1, stdout: '' })
    expect(hidden.stderr).toContain('--rotate')
    const first = await run(`clients secret api --rotate --auto-approve --realm ${realm}`)
    expect(first.code).toBe(0)
    expect((await tokenOf(realm, 'api', first.stdout.trim())).status).toBe(200)
    const next = await run(
      `clients secret api --rotate --grace 600 --auto-approve -o json --realm ${realm}`,
    )
    expect((await tokenOf(realm, 'api', JSON.parse(next.stdout).value)).status).toBe(200)
    expect((await tokenOf(realm, 'api', first.stdout.trim())).status).toBe(200)
    const silent = await run('plan realm.yaml --detailed-exitcode')
    expect(silent.code).toBe(0)
    expect(silent.stdout).not.toMatch(lost)
  })
})
