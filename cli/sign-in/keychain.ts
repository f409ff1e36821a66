/**
 * The keychain of the system: the Secret Service of a Linux desktop by `secret-tool`, the keychain of macOS by `security`. A
 * secret is passed on standard input only: arguments are visible to every user of the machine.
 */

import { withoutOwnCredentials } from '../context/own-credentials.ts'
import type { Env } from '../context/store.ts'

export interface Keychain {
  readonly name: 'secret-tool' | 'security'
  /** False where it cannot keep it: it is not installed, locked, or there is no desktop. */
  store(account: string, secret: string): Promise<boolean>
  find(account: string): Promise<string | undefined>
  remove(account: string): Promise<void>
}

const service = 'iamctl'
/** A person may have to unlock it. */
const timeoutMs = 60_000
/** `security -i` reads lines of at most 4096 bytes. */
const longestLine = 4000

type Run = (args: readonly string[], input?: string) => Promise<string | undefined>

/** What it prints; nothing where it fails. */
const runner =
  (command: string, env: Env): Run =>
  async (args, input = '') => {
    const { execa } = await import('execa')
    const { failed, stdout } = await execa(command, [...args], {
      input,
      env: withoutOwnCredentials(env),
      extendEnv: false,
      reject: false,
      timeout: timeoutMs,
      stderr: 'ignore',
    })
    return failed ? undefined : stdout
  }

const secretService = (run: Run): Keychain => {
  const named = (account: string) => ['service', service, 'account', account]
  return {
    name: 'secret-tool',
    store: async (account, secret) =>
      (await run(['store', '--label', `iamctl: ${account}`, ...named(account)], secret)) !==
      undefined,
    find: async (account) => (await run(['lookup', ...named(account)])) || undefined,
    remove: async (account) => {
      await run(['clear', ...named(account)])
    },
  }
}

const macKeychain = (run: Run): Keychain => {
  const named = (account: string) => ['-s', service, '-a', account]
  return {
    name: 'security',
    store: async (account, secret) => {
      const line = `add-generic-password -U -s "${service}" -a "${account}" -w "${secret}"\n`
      if (/["\\\n]/.test(account + secret) || line.length > longestLine) return false
      return (await run(['-i'], line)) !== undefined
    },
    find: async (account) =>
      (await run(['find-generic-password', ...named(account), '-w']))?.trim() || undefined,
    remove: async (account) => {
      await run(['delete-generic-password', ...named(account)])
    },
  }
}

export const openKeychain = (
  env: Env,
  platform: NodeJS.Platform = process.platform,
): Keychain | undefined => {
  if (platform === 'darwin') return macKeychain(runner('security', env))
  return platform === 'win32' ? undefined : secretService(runner('secret-tool', env))
}
