/** The keychains of Linux and macOS, as programs that take secrets on standard input and nowhere else. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openKeychain } from '#cli/sign-in/keychain.ts'
import { canOpenBrowser } from '#cli/sign-in/open-browser.ts'

const account = 'https://id.example/realms/master'

/** Programs that note how they were called, and keep what they are given in a file. */
const programs = (scripts: Readonly<Record<string, string>>) => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-keychain-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, script] of Object.entries(scripts)) {
    const body = `#!/bin/sh\nprintf '%s\\n' "$*" >> '${folder}/calls'\ncd '${folder}'\n${script}\n`
    writeFileSync(join(folder, name), body)
    chmodSync(join(folder, name), 0o755)
  }
  return {
    env: { PATH: `${folder}:${process.env['PATH'] ?? ''}`, IAMCTL_PASSWORD: 'sesame' },
    calls: () => readFileSync(join(folder, 'calls'), 'utf8'),
    kept: () => readFileSync(join(folder, 'kept'), 'utf8'),
  }
}

const secretTool = `case "$1" in
store) cat > kept ;;
lookup) [ -f kept ] && cat kept ;;
clear) rm -f kept ;;
esac`

/** The real one splits lines of \`-i\` into words, as a shell does. */
const security = `case "$1" in
-i) cat > kept ;;
find-generic-password) [ -f kept ] && sed 's/.*-w "\\(.*\\)"/\\1/' kept ;;
delete-generic-password) rm -f kept ;;
esac`

describe.each([
  ['secret-tool', 'linux', { 'secret-tool': secretTool }],
  ['security', 'darwin', { security }],
] as const)('%s', (name, platform, scripts) => {
  it('keeps, finds and removes a secret, which no argument holds', async () => {
    const { env, calls, kept } = programs(scripts)
    const keychain = openKeychain(env, platform)
    expect(keychain?.name).toBe(name)
    expect(await keychain?.find(account)).toBeUndefined()
    expect(await keychain?.store(account, 'top-secret_1')).toBe(true)
    expect(kept()).toContain('top-secret_1')
    expect(await keychain?.find(account)).toBe('top-secret_1')
    await keychain?.remove(account)
    expect(await keychain?.find(account)).toBeUndefined()
    expect(calls()).toContain(account)
    expect(calls()).not.toContain('top-secret_1')
  })

  it('that is not there, or does not work, keeps nothing', async () => {
    const missing = openKeychain({ PATH: '/nowhere' }, platform)
    expect(await missing?.store(account, 'x')).toBe(false)
    expect(await missing?.find(account)).toBeUndefined()
    const { env } = programs({ [name]: 'exit 1' })
    expect(await openKeychain(env, platform)?.store(account, 'x')).toBe(false)
  })

  it('does not get the credentials of iamctl itself', async () => {
    const { env, kept } = programs({ [name]: 'printenv > kept' })
    await openKeychain(env, platform)?.store(account, 'x')
    expect(kept()).not.toContain('sesame')
  })
})

it('of macOS takes nothing that would end its line, and nothing that is longer than one', async () => {
  const { env } = programs({ security })
  const keychain = openKeychain(env, 'darwin')
  for (const secret of ['a"b', 'a\nb', 'a\\b', 'x'.repeat(5000)])
    expect(await keychain?.store(account, secret)).toBe(false)
})

describe('a browser can be opened', () => {
  it.each([
    ['at a desktop of Linux', { DISPLAY: ':0' }, true, 'linux', true],
    ['at a desktop with Wayland', { WAYLAND_DISPLAY: 'wayland-0' }, true, 'linux', true],
    ['without a display', {}, true, 'linux', false],
    ['without a terminal', { DISPLAY: ':0' }, false, 'linux', false],
    [
      'over SSH',
      { DISPLAY: ':0', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' },
      true,
      'linux',
      false,
    ],
    ['over SSH to a Mac', { SSH_TTY: '/dev/ttys000' }, true, 'darwin', false],
    ['on a Mac', {}, true, 'darwin', true],
    ['where one is named', { BROWSER: 'firefox' }, false, 'linux', true],
  ] as const)('%s', (_where, env, isTerminal, platform, expected) => {
    expect(canOpenBrowser(env, isTerminal, platform)).toBe(expected)
  })
})
