/**
 * Programs of Debian that tests need and npm does not have. What is missing is installed where that may be done
 * (root, apt); otherwise the test fails with the line that says what to install.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

export interface DebianProgram {
  /** What needs it, for the message. */
  readonly purpose: string
  readonly packages: readonly string[]
  /** Files of the packages; with all of them there, nothing is installed. */
  readonly files: readonly string[]
}

/** How long making sure may take, for the timeout of a hook: an installation is slow. */
export const installTimeout = 300_000

/** Test workers may come here together: one installs, the others wait for it. */
export const ensureInstalled = ({ purpose, packages, files }: DebianProgram): void => {
  const present = (): boolean => files.every((file) => existsSync(file))
  if (present()) return
  const command = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/flock')) {
    const script = `${files.map((file) => `test -e ${file}`).join(' && ')} || (${command})`
    execFileSync('/usr/bin/flock', ['/tmp/iamctl-debian.lock', 'sh', '-c', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  }
  if (!present())
    throw new Error(`${purpose} need ${packages.join(' and ')}; install with: ${command}`)
}
