/** `iamctl doctor`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileOptions, addOutputOptions, addRealmOptions } from './options.ts'

export const addDoctor = (program: Command): void => {
  const doctor = program
    .command('doctor')
    .description('check this machine, the connection and the server for problems')
    .addHelpText(
      'after',
      `
Checks this program and its stored contexts, the realm files, the server (reachable, version, clock, certificate, health),
the signed-in user and permissions, and the database of a server on this machine (./data, IAMCTL_DATA or
IAMCTL_DATABASE_URL). Each problem comes with what to do. Nothing is changed.
Exit codes: 0 no problem; 1 at least one problem.

Examples:
  iamctl doctor
  iamctl doctor --context production
  iamctl doctor -o json | jq '.findings[] | select(.status == "error")'`,
    )
    .action(async (paths: string[], _flags, command: Command) => {
      const { doctor: run } = await import('./run/doctor.ts')
      await run(invocationOf(command), paths)
    })
  addFileOptions(doctor)
  addRealmOptions(doctor)
  addOutputOptions(doctor)
}
