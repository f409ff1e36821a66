/** `iamctl login`, `logout` and `whoami`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions, addServerOptions } from './options.ts'

export const addLogin = (program: Command): void => {
  const login = program
    .command('login')
    .description('sign in and stay signed in on this machine')
    .addHelpText(
      'after',
      `
The session is kept in $XDG_CONFIG_HOME/iamctl/config.json (~/.config), for you alone; the password never is. What is
given becomes a context, named by --context or after the server, and is used from now on.
A pipeline needs no login: IAMCTL_CLIENT_ID and IAMCTL_CLIENT_SECRET (or IAMCTL_CLIENT_SECRET_FILE), IAMCTL_TOKEN,
or IAMCTL_USERNAME and IAMCTL_PASSWORD do.

Examples:
  iamctl login --server https://id.example --username alice
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
    .description('end the session of `iamctl login`, and forget it')
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
