/** The address of a server as a person gives it, and whether a password may be sent there. */

import { isIPv4 } from 'node:net'
import { CommandError, exitCodes } from '../exit.ts'

const refuse = (text: string, reason: string, hint: string): CommandError =>
  new CommandError(exitCodes.error, `the server's address ${text} ${reason}`, { hint })

/** Without credentials, query and trailing slash, so that one server has one name. */
export const serverAddress = (given: string): string => {
  const url = URL.parse(given)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw refuse(
      `"${given}"`,
      'is no web address',
      'write it like https://id.example or http://127.0.0.1:8080',
    )
  if (url.username !== '' || url.password !== '')
    throw refuse(
      url.host,
      'carries a name or password, which others on this machine can see',
      'use --username, and IAMCTL_PASSWORD or --password-file',
    )
  if (url.search !== '' || url.hash !== '')
    throw refuse(`"${given}"`, 'has more than a path', `try ${url.origin}`)
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/**
 * Whether an address that a server names is one of the web. A browser is told to open it, and the desktop starts programs for
 * `file:` and other schemes (as in CVE-2025-6514).
 */
export const isWebAddress = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.hash === ''
}

/** By name and by number: what never leaves the machine. */
export const isLoopback = (server: string): boolean => {
  const { hostname } = new URL(server)
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  )
}

/** Passwords, cookies and tokens go over plain http only within the machine, or where a person insists. */
export const refusePlainHttp = (server: string, insisted: boolean): void => {
  if (insisted || server.startsWith('https:') || isLoopback(server)) return
  throw refuse(
    server,
    'is plain http: the password could be read on the network',
    'use https://, or give --insecure-http where the network itself is trusted',
  )
}
