/** Administrators with an authenticator app, and a browser that does what a person does with the address it is given. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Secret, TOTP } from 'otpauth'
import { anonymous, type Browserless } from '../../../support/processes/browserless.ts'
import type { CliResult, Home } from '../../../support/processes/cli.ts'
import type { World } from '../fixture/fixture.ts'

export const password = 'an administrators long password 7'

const period = 30_000

export interface Admin {
  readonly username: string
  readonly id: string
  readonly code: () => string
}

/** Of the realm acme, with all permissions, a password and an authenticator app. */
export const addAdmin = async ({ admin }: World, username: string): Promise<Admin> => {
  const acme = '/admin/realms/acme'
  const must = async (method: string, path: string, body?: unknown) => {
    const answer = await admin.send(method, `${acme}${path}`, body)
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { userId } = await must('POST', '/users', { username, email: `${username}@acme.example` })
  await must('PUT', `/users/${userId}/password`, { newPassword: password })
  await must('POST', `/users/${userId}/roles`, { name: 'admin' })
  const { secret } = await must('POST', `/users/${userId}/credentials`, { type: 'otp' })
  const totp = new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 })
  // A code is good once: the next one is of the next half minute, which the server takes too.
  let last = 0
  const code = (): string => {
    last = Math.max(Math.floor(Date.now() / period), last + 1)
    return totp.generate({ timestamp: last * period })
  }
  return { username, id: userId, code }
}

/** A command for $BROWSER that writes the address to a file, and what reads it there. */
export const fakeBrowser = ({ folder }: Home): { command: string; url: () => Promise<string> } => {
  const [command, file] = [join(folder, 'browser'), join(folder, 'url')]
  writeFileSync(
    command,
    `#!/bin/sh\nprintf '%s' "$1" > '${file}.new' && mv '${file}.new' '${file}'\n`,
  )
  chmodSync(command, 0o755)
  return {
    command,
    url: async () => {
      while (!existsSync(file)) await sleep(20)
      const url = readFileSync(file, 'utf8')
      rmSync(file)
      return url
    },
  }
}

const field = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? ''
const actionOf = (html: string): string =>
  (/<form[^>]*action="([^"]+)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&')

export interface Visit {
  readonly browser: Browserless
  /** Where the server sends the browser away to; empty where it stays. */
  readonly away: string
  readonly page: string
}

const follow = async (browser: Browserless, base: string, path: string): Promise<Visit> => {
  const { status, headers, body } = await browser.send('GET', path)
  const location = String(headers['location'] ?? '')
  if (status !== 303 && status !== 302) return { browser, away: '', page: String(body) }
  if (!location.startsWith('/') && !location.startsWith(`${base}/`))
    return { browser, away: location, page: '' }
  return follow(browser, base, location)
}

const submit = async (
  { browser, page }: Visit,
  base: string,
  fields: Record<string, string>,
): Promise<Visit> => {
  const hidden = { _csrf: field(page, '_csrf'), user_code: field(page, 'user_code') }
  const form = new URLSearchParams({ ...hidden, ...fields })
  const { headers, status, body } = await browser.send('POST', actionOf(page), form)
  const location = String(headers['location'] ?? '')
  if (status !== 303) return { browser, away: '', page: String(body) }
  if (!location.startsWith('/') && !location.startsWith(`${base}/`))
    return { browser, away: location, page: '' }
  return follow(browser, base, location)
}

/** Password, then the code of the app, then the question of the realm. */
export const signInAt = async (
  url: string,
  { username, code }: Admin,
  decision = 'allow',
): Promise<Visit> => {
  const base = new URL(url).origin
  const opened = await follow(anonymous(base), base, url)
  const second = await submit(opened, base, { username, password })
  const question = await submit(second, base, { code: code() })
  return submit(question, base, { decision })
}

export interface Login {
  readonly result: CliResult
  /** What the browser shows in the end. */
  readonly shown: string
}

/** `iamctl login` with the browser of a person who has a second factor. */
export const loginWithBrowser = async (
  home: Home,
  admin: Admin,
  {
    args = [],
    env = {},
    decision = 'allow',
  }: { args?: readonly string[]; env?: Record<string, string>; decision?: string } = {},
): Promise<Login> => {
  const browser = fakeBrowser(home)
  const running = home.run(['login', '--auth-realm', 'acme', '--realm', 'acme', ...args], {
    env: { BROWSER: browser.command, ...env },
  })
  const url = await Promise.race([
    browser.url(),
    running.then(({ stderr }) => Promise.reject(new Error(`no browser was opened: ${stderr}`))),
  ])
  const { away, page } = await signInAt(url, admin, decision)
  if (away === '') throw new Error(page.replaceAll(/<[^>]*>|\s+/g, ' '))
  const shown = await (await fetch(away)).text()
  return { result: await running, shown }
}

/** A `secret-tool` that keeps secrets in a folder, and what it was called with. */
export const fakeKeychain = ({ folder }: Home) => {
  const bin = join(folder, 'bin')
  const [secrets, log] = [join(folder, 'secrets'), join(folder, 'calls')]
  for (const one of [bin, secrets]) mkdirSync(one, { recursive: true })
  writeFileSync(
    join(bin, 'secret-tool'),
    `#!/bin/sh
printf '%s\\n' "$*" >> '${log}'
for last; do :; done
file='${secrets}'/$(printf '%s' "$last" | tr '/:' '__')
case "$1" in
store) cat > "$file" ;;
lookup) [ -f "$file" ] && cat "$file" ;;
clear) rm -f "$file" ;;
esac
`,
  )
  chmodSync(join(bin, 'secret-tool'), 0o755)
  return { bin, secrets, calls: () => readFileSync(log, 'utf8') }
}
