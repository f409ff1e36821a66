/**
 * Compares the versions of this program and of the server. One minor version apart they work together: unknown fields are
 * refused and never lost. Larger distances are untested.
 */

import { isObject } from '#schemas/json-schema.ts'
import manifest from '../../../package.json' with { type: 'json' }
import type { Http } from './http.ts'

export interface Skew {
  readonly program: string
  readonly server: string
  readonly older: 'program' | 'server'
  /** More than one minor version, or another major one. */
  readonly isFar: boolean
}

const partsOf = (version: string): [major: number, minor: number] | null => {
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? []
  return major === undefined || minor === undefined ? null : [Number(major), Number(minor)]
}

/** Null where they are of the same minor version, or one of them says nothing that can be compared. */
export const skewOf = (
  server: string | undefined,
  program: string = manifest.version,
): Skew | null => {
  const [theirs, ours] = [partsOf(server ?? ''), partsOf(program)]
  if (server === undefined || !theirs || !ours) return null
  const [major, minor] = [theirs[0] - ours[0], theirs[1] - ours[1]]
  if (major === 0 && minor === 0) return null
  return {
    program,
    server,
    older: (major || minor) > 0 ? 'program' : 'server',
    isFar: major !== 0 || Math.abs(minor) > 1,
  }
}

const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.')

export const skewText = ({ program, server, older, isFar }: Skew): string =>
  [
    `the server is ${server} and this iamctl ${program}${isFar ? ', an untested combination' : ''}:`,
    older === 'program'
      ? `fields newer than ${minorOf(program)} are unknown to this iamctl, and a plan that would remove them is refused; ` +
        `npm install --global iamctl@${minorOf(server)}`
      : `the server refuses fields newer than ${minorOf(server)}; update the server, or ` +
        `npm install --global iamctl@${minorOf(server)}`,
  ].join(' ')

export interface ServerInfo {
  readonly version: string | undefined
  readonly capabilities: readonly string[]
  /** When it said so, by its own clock; null where it does not tell. */
  readonly date: number | null
}

/** The public information of the server. */
export const serverInfo = async (http: Http): Promise<ServerInfo> => {
  const { body, headers } = await http.send({
    method: 'GET',
    path: '/monitoring/info',
    uncounted: true,
  })
  const info = isObject(body) ? body : {}
  const { build, api } = info
  const version = isObject(build) ? build['version'] : undefined
  const words = isObject(api) ? api['capabilities'] : undefined
  const date = Date.parse(String(headers['date'] ?? ''))
  return {
    version: typeof version === 'string' ? version : undefined,
    capabilities: Array.isArray(words) ? words.map(String) : [],
    date: Number.isNaN(date) ? null : date,
  }
}
