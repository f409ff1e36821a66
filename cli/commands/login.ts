/** `iamctl login`, `logout` and `whoami`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions, addServerOptions } from './options.ts'

export const addLogin = (program: Command): void => {
  const login = program
    .command('login')
    .description('sign in with a browser and stay signed in on this machine')
    .option(
      '--device',
      'sign in on another device, with a code; also where no browser can be opened',
    )
    .option(
      '--with-password',
      'sign in with username and password at the prompt, without a second factor',
    )
    .addHelpText(
      'after',
      `
The browser opens the sign-in page of the realm, with every factor that it asks for, and comes back to a port of
127.0.0.1. Without a terminal or display, over SSH and with --device an address and a code are shown instead, for a
browser anywhere. $BROWSER names the browser to open.
The tokens are kept in the keychain of the system (secret-tool on Linux, security on macOS), else in a file below
$XDG_CONFIG_HOME/iamctl (~/.config) that only you may read. They are bound to a key that is kept with them, and renewed
until the session ends; a command then ends with exit code 4. What is given becomes a context, named by --context or
after the server, and is used from now on; it remembers how you signed in.
A pipeline needs no login: IAMCTL_CLIENT_ID and IAMCTL_CLIENT_SECRET (or IAMCTL_CLIENT_SECRET_FILE), IAMCTL_TOKEN,
or IAMCTL_USERNAME and IAMCTL_PASSWORD do. With a password (IAMCTL_PASSWORD, --password-file, --with-password) the
session of the realm is kept instead of tokens; a user with a second factor is refused.

Examples:
  iamctl login --server https://id.example
  iamctl login --server https://id.example --device
  iamctl login --server https://id.example --auth-realm acme --realm acme --context acme`,
    )
    .action(async (_flags, command: Command) => {
      const { login: run } = await import('./run/login.ts')
      await run(invocationOf(command))
    })
  addRealmOptions(login)
  addOutputOptions(login)
}

export const addLogout = (program: Command): void => {
  const logout = program
    .command('logout')
    .description('revoke the tokens or end the session of `iamctl login`, and forget them')
    .addHelpText('after', '\nExample:\n  iamctl logout --server https://id.example')
    .action(async (_flags, command: Command) => {
      const { logout: run } = await import('./run/login.ts')
      await run(invocationOf(command))
    })
  addServerOptions(logout)
  addOutputOptions(logout)
}

export const addWhoami = (program: Command): void => {
  const whoami = program
    .command('whoami')
    .description('show who is signed in, where, and what they may do')
    .addHelpText('after', '\nExample:\n  iamctl whoami --realm acme')
    .action(async (_flags, command: Command) => {
      const { whoami: run } = await import('./run/whoami.ts')
      await run(invocationOf(command))
    })
  addRealmOptions(whoami)
  addOutputOptions(whoami)
}
