/**
 * A real headless Chromium for the tests of pages. It is Debian's; where it is missing and may be installed
 * (root, apt), it is, otherwise the test fails with the line that says what to install.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executables = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const command = 'apt-get update && apt-get install -y --no-install-recommends chromium'

const installed = (): string | undefined => executables.find((path) => existsSync(path))

/** Test workers may come here together: one installs, the others wait for it. */
const install = (): void => {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get') || !existsSync('/usr/bin/flock'))
    return
  const script = `test -x ${executables[0]} || (${command})`
  execFileSync('/usr/bin/flock', ['/tmp/iamctl-chromium.lock', 'sh', '-c', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

/** How long opening may take, for the timeout of a hook: an installation is slow. */
export const openBrowserTimeout = 300_000

export const openBrowser = async (): Promise<Browser> => {
  if (installed() === undefined) install()
  const executablePath = installed()
  if (executablePath === undefined)
    throw new Error(`the tests of pages need Chromium; install it with: ${command}`)
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })
}
