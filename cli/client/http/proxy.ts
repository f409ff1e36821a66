/** The proxies that HTTP_PROXY and HTTPS_PROXY name, read as curl does: lower case first, http:// where no scheme is given. */

import { type Agent, EnvHttpProxyAgent } from 'undici'
import { CommandError, exitCodes } from '../../exit.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface Proxied {
  readonly agent: EnvHttpProxyAgent
  /** For messages; the address may hold a password. */
  readonly says: string
}

const variableOf = (env: Env, name: string): string => env[name.toLowerCase()] || env[name] || ''

const addressOf = (env: Env, name: string): URL | undefined => {
  const value = variableOf(env, name)
  if (value === '') return undefined
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new CommandError(exitCodes.error, `${name} is not the address of an HTTP proxy`, {
    hint: 'write it like http://proxy.example:3128',
  })
}

/** Undefined where no proxy is for requests to the server. NO_PROXY is left to the agent. */
export const proxied = (env: Env, server: string, options: Agent.Options): Proxied | undefined => {
  const [http, https] = ['HTTP_PROXY', 'HTTPS_PROXY'].map((name) => addressOf(env, name))
  const isSecure = new URL(server).protocol === 'https:'
  const used = isSecure ? (https ?? http) : http
  if (used === undefined) return undefined
  const agent = new EnvHttpProxyAgent({
    ...options,
    httpProxy: http?.href ?? '',
    httpsProxy: https?.href ?? '',
    noProxy: variableOf(env, 'NO_PROXY'),
  })
  return {
    agent,
    says: `${isSecure && https ? 'HTTPS_PROXY' : 'HTTP_PROXY'} names the proxy ${used.host}`,
  }
}
