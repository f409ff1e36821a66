/** `iamctl logout`. */

import { command } from '../../invocation/command.ts'
import { serverFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'

export const logout = command({
  name: 'logout',
  description: 'revoke the tokens or the session of `iamctl login` and delete them',
  help: '\nExample:\n  iamctl logout --server https://id.example',
  flags: serverFlags,
  run: async (call) => {
    const { connectOptions } = await import('../../invocation/connection.ts')
    const { logout: signOut } = await import('../../sign-in/login.ts')
    return signOut(connectOptions(call))
  },
  views: {
    human:
      () =>
      ({ username, authRealm, server }, call) =>
        note(
          call,
          username === null
            ? `this machine has no session in realm ${authRealm} at ${server}`
            : `${username} is signed out of realm ${authRealm} at ${server}`,
        ),
    json: () => printJson,
  },
})
