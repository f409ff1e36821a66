/** `iamctl validate`. */

import { exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { fileOptions } from '../../invocation/file-options.ts'
import { flags, list, toggle } from '../../invocation/flags.ts'
import { configFlag, fileFlags, pathsArgument } from '../../invocation/shared-flags.ts'

export const validate = command({
  name: 'validate',
  description: 'check realm files offline and report every problem with its line',
  help: `
Works offline and resolves no secret: the value of \${env:NAME} is not checked.
Exit codes: 0 valid, with or without warnings; 3 a file is not valid, or has warnings with --warnings-as-errors.

Examples:
  iamctl validate                                    the paths of iamctl.yaml, else realms/
  iamctl validate realms/acme.yaml --overlay overlays/production
  iamctl validate --output github                    annotations on a pull request
  iamctl validate --output sarif > iamctl.sarif      for code scanning
  iamctl validate --output junit > iamctl.xml        as test results, for GitLab and others
  iamctl validate --warnings-as-errors --ignore password-grant
  iamctl validate --output json | jq '.diagnostics[].code'`,
  arguments: [pathsArgument],
  flags: flags(
    {
      warningsAsErrors: toggle('treat warnings as errors'),
      ignore: list('<code>', 'ignore warnings with this code; may be repeated'),
      ...configFlag,
      codes: toggle('list every code with its meaning, and check nothing'),
    },
    fileFlags,
  ),
  run: async (call, paths) => {
    const { codes: onlyCodes, ignore, warningsAsErrors } = call.flags
    if (onlyCodes) return { codes: (await import('../../validate/codes.ts')).codes }
    const { validateFiles } = await import('../../planning/estate/validate-files.ts')
    return validateFiles(fileOptions(call, paths), { ignore, warningsAsErrors })
  },
  views: {
    human: async () => (await import('../../views/human/estate/validation.ts')).showValidation,
    json: async () => (await import('../../views/json/diagnostics.ts')).printValidation,
    github: async () => (await import('../../views/annotations/github.ts')).annotateValidation,
    sarif: async () => (await import('../../views/annotations/sarif.ts')).printSarif,
    junit: async () => (await import('../../views/annotations/junit.ts')).printJunit,
  },
  conclude: (result) => ('fails' in result && result.fails ? exitCodes.invalid : undefined),
})
