/** `iamctl doctor`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileOptions, addOutputOptions, addRealmOptions } from './options.ts'

export const addDoctor = (program: Command): void => {
  const doctor = program
    .command('doctor')
    .description('look for what is wrong here, on the way to the server and with it')
    .addHelpText(
      'after',
      `
Looks at this program and what it remembers, the realm files, the server (reachable, version, clock, certificate, health), who
you are there and what you may do, and at the database of a server of this machine (./data, IAMCTL_DATA or
IAMCTL_DATABASE_URL). Says for everything that is not well what to do about it. Nothing is changed.
Exit codes: 0 nothing is wrong; 1 something is.

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
