/** `iamctl server check-config`. */

import { exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { printJson } from '../../views/json/json.ts'
import { allOptions, givenOf } from './flags.ts'

export const checkConfig = command({
  name: 'check-config',
  description: 'check whether the server would start, and report unsafe settings',
  help: `
Takes every option and variable of the server and changes nothing. Exit codes: 0 the server would start; 1 it would not.

Examples:
  iamctl server check-config --data /var/lib/iamctl --base-url https://id.example
  iamctl server check-config -o json`,
  flags: allOptions,
  run: async ({ flags, env }) => {
    const { operations } = await import('./operations.ts')
    const findings = await (await operations()).checkServer({ flags: givenOf(flags), env })
    return { ok: findings.every(({ status }) => status !== 'error'), findings }
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
