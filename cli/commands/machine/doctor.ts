/** `iamctl doctor`. */

import { exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { fileOptions } from '../../invocation/file-options.ts'
import { flags } from '../../invocation/flags.ts'
import { fileFlags, pathsArgument, realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'

export const doctor = command({
  name: 'doctor',
  description: 'check this machine, the connection and the server for problems',
  help: `
Checks this program and its stored contexts, the realm files, the server (reachable, version, clock, certificate, health),
the signed-in user and permissions, and the database of a server on this machine (./data, IAMCTL_DATA or
IAMCTL_DATABASE_URL). Each problem comes with what to do. Nothing is changed.
Exit codes: 0 no problem; 1 at least one problem.

Examples:
  iamctl doctor
  iamctl doctor --context production
  iamctl doctor -o json | jq '.findings[] | select(.status == "error")'`,
  arguments: [pathsArgument],
  flags: flags(fileFlags, realmFlags),
  run: async (call, paths) => {
    const { examine } = await import('../../doctor/doctor.ts')
    const { connectOptions } = await import('../../invocation/connection.ts')
    const { checkLocalServer } = await import('../server/operations.ts')
    return examine({
      files: fileOptions(call, paths),
      connectOptions: () => connectOptions(call),
      checkLocalServer,
    })
  },
  views: {
    human: async () => {
      const { showFindings } = await import('../../views/human/machine/findings.ts')
      return ({ findings }) => showFindings(findings)
    },
    json: () => printJson,
  },
  conclude: ({ ok }) => (ok ? undefined : exitCodes.error),
})
