/** `-o markdown`: there is always a document, and no deletion is missing in it. */
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const secret = (realm: string): string =>
  `realm: ${realm}\nclients: [{ clientId: api, secret: "\${env:API_SECRET}" }]\n`

describe.each(['plan', 'drift'])('%s -o markdown', (command) => {
  it('says what failed where there is no plan, with the exit code of the failure', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), { 'realm.yaml': secret(realm) })
    const failed = async (code: number, call = run): Promise<string> => {
      const result = await call(`${command} realm.yaml -o markdown`)
      expect(result.code, result.stderr).toBe(code)
      expect(result.stdout).toMatch(new RegExp(`^### iamctl ${command}: failed\n`))
      return result.stdout
    }
    const lacking = await failed(3)
    expect(lacking).toContain('realm.yaml:2:')
    expect(lacking).toContain('the environment variable API_SECRET is not set')
    write({ 'realm.yaml': `realm: ${realm}\nclients: [{ clientID: api }]\n` })
    expect(await failed(3)).toContain('clientID')
    const as = (server: string) =>
      newEstate(
        world(),
        { 'realm.yaml': `realm: ${realm}\nroles: [{ name: a }]\n` },
        { IAMCTL_SERVER: server, IAMCTL_CLIENT_ID: 'nobody', IAMCTL_CLIENT_SECRET: 'not-told' },
      )
    const denied = await failed(4, as(world().server.url).run)
    expect(denied).toContain('refused a token to client nobody')
    expect(denied).not.toContain('not-told')
    expect(await failed(5, as('http://127.0.0.1:9').run)).toContain('127.0.0.1')
  })
})

describe('a plan that is too long for a comment', () => {
  it('shows every deletion, first, and counts what it leaves out', async () => {
    const realm = newRealm()
    const long = (text: string): string => `${text} `.repeat(60).trim()
    const role = (name: string, text: string): string =>
      `  - { name: ${name}, description: "${long(text)}" }\n`
    const all = (names: readonly string[], text: string): string =>
      names.map((name) => role(name, text)).join('')
    const numbers = (count: number, name: string): string[] =>
      Array.from({ length: count }, (_, i) => `${name}-${i}`)
    const [going, changing, coming] = [
      numbers(70, 'going'),
      numbers(90, 'changing'),
      numbers(80, 'coming'),
    ]
    const { run, write } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nroles:\n${all([...going, ...changing], 'before')}`,
    })
    const applied = await run('apply realm.yaml --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    write({
      'realm.yaml': `realm: ${realm}\nroles:\n${all(changing, 'after')}${all(coming, 'new')}`,
    })
    const { stdout, stderr, code } = await run('plan realm.yaml -o markdown')
    expect(code, stderr).toBe(0)
    expect(stdout.length).toBeLessThanOrEqual(65_536)
    for (const name of going) expect(stdout).toMatch(new RegExp(`^- role "${name}"`, 'm'))
    const note = stdout.match(/^# Left out for length: .*$/m)?.[0] ?? ''
    const left = (action: string): number =>
      Number(note.match(new RegExp(`(\\d+) to ${action}`))?.[1] ?? 0)
    const shown = (sign: string, name: string): number =>
      stdout.split(`\n${sign} role "${name}-`).length - 1
    expect(shown('+', 'coming') + left('create')).toBe(coming.length)
    expect(shown('!', 'changing') + left('update')).toBe(changing.length)
    expect(stdout.indexOf('going-')).toBeLessThan(stdout.search(/(changing|coming)-/))
    expect(stdout).toContain('iamctl plan')
  })
})
