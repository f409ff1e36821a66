/** `iamctl login`. */

import { command } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'

export const login = command({
  name: 'login',
  description:
    'sign in with a browser, or as the workload of a pipeline, and stay signed in on this machine',
  help: `
The browser opens the sign-in page of the realm, which asks for every factor of its flow, and returns to a port of 127.0.0.1.
Without a terminal or display, over SSH and with --device, login shows an address and a code for a browser on any device.
$BROWSER names the browser to open.
The tokens are stored in the keychain of the system (secret-tool on Linux, security on macOS), else in a file below
$XDG_CONFIG_HOME/iamctl (~/.config) with mode 0600. They are bound to a key that is stored with them, and renewed until the
session ends; after that a command fails with exit code 4. The options are saved as a context, named by --context or
after the server, which becomes the default and remembers the way of signing in.
With --workload a pipeline signs in with the token of its platform, and stores no secret: an ID token of GitHub Actions
(\`permissions: { id-token: write }\`) or of GitLab CI (\`id_tokens: { IAMCTL_ID_TOKEN: { aud: … } }\`), a projected token of
Kubernetes, or a JWT-SVID of SPIFFE in a file (--token-file). A workload credential of the realm must accept it
(\`iamctl explain workload-identity\`). Each command that follows asks the platform for a token again.
Otherwise a pipeline needs no login: set IAMCTL_CLIENT_ID and IAMCTL_CLIENT_SECRET (or IAMCTL_CLIENT_SECRET_FILE), IAMCTL_TOKEN,
or IAMCTL_USERNAME and IAMCTL_PASSWORD. With a password (IAMCTL_PASSWORD, --password-file, --with-password) the session of
the realm is stored instead of tokens; users with a second factor are refused.

Examples:
  iamctl login --server https://id.example
  iamctl login --server https://id.example --device
  iamctl login --server https://id.example --auth-realm acme --workload
  iamctl login --server https://id.example --auth-realm acme --realm acme --context acme`,
  flags: flags(
    {
      workload: toggle('sign in with the token of the platform that runs this pipeline'),
      tokenFile: text('<file>', 'file that the platform writes the token to (with --workload)', {
        variable: 'IAMCTL_WORKLOAD_TOKEN_FILE',
      }),
      audience: text(
        '<audience>',
        'audience of the token that GitHub is asked for (with --workload)',
        { fallback: 'the address of the realm' },
      ),
      device: toggle('sign in with a code on another device; the default without a browser'),
      withPassword: toggle(
        'sign in with username and password at the prompt, without a second factor',
      ),
    },
    realmFlags,
  ),
  run: async (call) => {
    const { connectOptions } = await import('../../invocation/connection.ts')
    const { login: signIn } = await import('../../sign-in/login.ts')
    return signIn({
      flags: call.flags,
      env: call.env,
      optionsFor: (used, env) => ({ ...connectOptions({ ...call, env }), flags: used }),
    })
  },
  views: {
    human:
      () =>
      ({ username, authRealm, server, context }, call) =>
        note(
          call,
          `${username} is signed in to realm ${authRealm} at ${server}; context "${context}" is in use`,
        ),
    json: () => printJson,
  },
})
