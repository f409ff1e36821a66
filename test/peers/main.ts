/**
 * Runs the tests with programs that npm does not bring: pages in a browser, Apache, shells. Says in one line what is
 * missing, and installs it only where `--install` asks for that. Other arguments go to vitest.
 */
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { missingPackages } from '../support/processes/programs/programs.ts'
import { runTwice } from '../support/run/two-tries.ts'

const { values, positionals } = parseArgs({
  options: { install: { type: 'boolean', default: false } },
  allowPositionals: true,
})

const aptGet = (...args: readonly string[]): unknown =>
  spawnSync('apt-get', args, {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })

const install = (packages: readonly string[]): void => {
  process.stdout.write(`installing ${packages.join(' ')} with apt-get\n`)
  aptGet('update', '-qq')
  aptGet('install', '-y', '-qq', '--no-install-recommends', ...packages)
}

if (values.install && missingPackages().length > 0) install(missingPackages())
const missing = missingPackages()
if (missing.length > 0) {
  process.stderr.write(
    `These tests need programs that are not here: apt-get install ${missing.join(' ')} (as root, or npm run test:peers -- --install)\n`,
  )
  process.exitCode = 1
} else process.exitCode = runTwice(['--project', 'peers', ...positionals])
