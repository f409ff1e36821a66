/** A folder with realm files, and the built program in it as a pipeline has it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { CliResult } from '../../support/processes/cli.ts'
import { adminHome, type World } from './fixture.ts'

export interface Estate {
  readonly folder: string
  /** For a program that signs in by itself. */
  readonly env: Readonly<Record<string, string>>
  write(files: Readonly<Record<string, string>>): void
  run(command: string, ...args: string[]): Promise<CliResult>
}

let count = 0

/** A name of its own for the realm of every test. */
export const newRealm = (): string => {
  count += 1
  return `realm-${process.pid}-${count}`
}

export const newEstate = (
  world: World,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Estate => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-estate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const pipeline = adminHome(world)
  // Whoever has signed in before needs no password for each command, which costs both sides a third of it.
  const home = env['IAMCTL_SERVER'] === undefined ? world.home : pipeline
  const write: Estate['write'] = (all) => {
    for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text)
  }
  write(files)
  return {
    folder,
    env: { ...pipeline.env, ...env },
    write,
    run: (command, ...args) => home.run([...command.split(' '), ...args], { cwd: folder, env }),
  }
}
