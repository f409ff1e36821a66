/** Opens the browser of the desktop, if there is one. */

import { spawn } from 'node:child_process'
import { withoutOwnCredentials } from '../context/own-credentials.ts'
import type { Env } from '../context/store.ts'

/** $BROWSER is a list of commands, each with or without a place for the address. */
const named = (browser: string, url: string): string[] => {
  const words = (browser.split(':', 1)[0] ?? '').split(/\s+/).filter((word) => word !== '')
  return words.some((word) => word.includes('%s'))
    ? words.map((word) => word.replaceAll('%s', url))
    : [...words, url]
}

const commandFor = (url: string, env: Env, platform: NodeJS.Platform): readonly string[] => {
  const { BROWSER: browser } = env
  if (browser) return named(browser, url)
  if (platform === 'darwin') return ['open', url]
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return ['xdg-open', url]
}

/** Over SSH the browser would open on the remote machine. */
export const canOpenBrowser = (
  env: Env,
  isTerminal: boolean,
  platform: NodeJS.Platform = process.platform,
): boolean => {
  if (env['BROWSER']) return true
  if (!isTerminal || env['SSH_CONNECTION'] || env['SSH_TTY']) return false
  if (platform === 'darwin' || platform === 'win32') return true
  return Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY'])
}

/** Whether it could be started; it lives on without us. */
export const openBrowser = (
  url: string,
  env: Env,
  platform: NodeJS.Platform = process.platform,
): Promise<boolean> =>
  new Promise((resolve) => {
    const [command = '', ...args] = commandFor(url, env, platform)
    const child = spawn(command, args, {
      stdio: 'ignore',
      detached: true,
      env: withoutOwnCredentials(env) as NodeJS.ProcessEnv,
    })
    child.once('error', () => resolve(false))
    child.once('spawn', () => resolve(true))
    child.unref()
  })
