/** `iamctl login`, `logout` and `whoami`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions, addServerOptions } from './options.ts'

export const addLogin = (program: Command): void => {
  const login = program
    .command('login')
    .description('sign in with a browser and stay signed in on this machine')
    .option('--device', 'sign in with a code on another device; the default without a browser')
    .option(
      '--with-password',
      'sign in with username and password at the prompt, without a second factor',
    )
    .addHelpText(
      'after',
      `
The browser opens the sign-in page of the realm, which asks for every factor of its flow, and returns to a port of 127.0.0.1.
Without a terminal or display, over SSH and with --device, login shows an address and a code for a browser on any device.
$BROWSER names the browser to open.
The tokens are stored in the keychain of the system (secret-tool on Linux, security on macOS), else in a file below
$XDG_CONFIG_HOME/iamctl (~/.config) with mode 0600. They are bound to a key that is stored with them, and renewed until the
session ends; after that a command fails with exit code 4. The options are saved as a context, named by --context or
after the server, which becomes the default and remembers the way of signing in.
A pipeline needs no login: set IAMCTL_CLIENT_ID and IAMCTL_CLIENT_SECRET (or IAMCTL_CLIENT_SECRET_FILE), IAMCTL_TOKEN,
or IAMCTL_USERNAME and IAMCTL_PASSWORD. With a password (IAMCTL_PASSWORD, --password-file, --with-password) the session of
the realm is stored instead of tokens; users with a second factor are refused.

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
    .description('revoke the tokens or the session of `iamctl login` and delete them')
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
    .description('show the signed-in user, server and permissions')
    .addHelpText('after', '\nExample:\n  iamctl whoami --realm acme')
    .action(async (_flags, command: Command) => {
      const { whoami: run } = await import('./run/whoami.ts')
      await run(invocationOf(command))
    })
  addRealmOptions(whoami)
  addOutputOptions(whoami)
}
