/** `iamctl init`. */

import { command } from '../../invocation/command.ts'
import { choice, text } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { printJson } from '../../views/json/json.ts'

export const templateNames = ['minimal', 'b2b-saas', 'workforce', 'machine-to-machine'] as const
export const pipelineNames = ['github', 'gitlab'] as const

export const init = command({
  name: 'init',
  description: 'create an estate: working realm files and their pipeline',
  help: `
Existing files are never overwritten, and no server is needed. Templates:
  minimal               one realm, one application
  b2b-saas              customers as organizations, an application with an API, sign-in through a customer's provider
  workforce             people in groups, a second factor for some, applications by OpenID Connect and SAML
  machine-to-machine    services with secrets, keys or the identity of their platform
The pipeline validates and plans on a pull request, with the plan as a comment, applies on merge and checks for drift. Its
file is at the root of the Git repository; its jobs run in the folder of the estate. Only the apply job gets the secrets of
the files: the other jobs sign in as a client that may only plan.
iamctl is not in a public registry: init packs this program into .iamctl/ (7 MB), and the pipeline installs that package.
--package names another package for npm: git+https://…#tag, the address of a tarball, NAME@VERSION of a private registry.

Examples:
  iamctl init                                          here, named after the folder
  iamctl init shop --template b2b-saas --ci github
  iamctl init shop --ci github --package git+https://git.acme.example/iamctl.git#v0.1.0
  iamctl init --realm acme --server https://id.acme.example --ci gitlab`,
  arguments: [argument('[folder]', 'folder of the estate (default: the current folder)')],
  flags: {
    template: choice('<name>', 'what the realm is for', templateNames, { fallback: 'minimal' }),
    ci: choice('<system>', 'a pipeline too', pipelineNames),
    package: text('<spec>', 'npm package that the pipeline installs', {
      fallback: 'this program, packed',
    }),
    realm: text('<name>', 'name of the realm', {
      fallback: 'the name of the folder',
      variable: 'IAMCTL_REALM',
    }),
    server: text('<url>', 'address of the server', {
      fallback: 'http://127.0.0.1:8080',
      variable: 'IAMCTL_SERVER',
    }),
  },
  run: async ({ flags, env }, folder) => {
    const { beginEstate } = await import('../../init/begin.ts')
    return beginEstate(flags, env, folder)
  },
  views: {
    human: async () => (await import('../../views/human/estate/init.ts')).showBegun,
    json: () => printJson,
  },
})
