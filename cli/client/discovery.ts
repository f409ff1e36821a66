/** A realm as an authorization server: where its endpoints are, as its metadata says (RFC 8414, OIDC Discovery). */

import { CommandError, exitCodes } from '../exit.ts'
import { isWebAddress } from './address.ts'
import { UnreachableError } from './http/errors.ts'
import type { Http, HttpAnswer } from './http/http.ts'

const wellKnown = '/.well-known/openid-configuration'

export const memberOf = ({ body }: Pick<HttpAnswer, 'body'>, name: string): string | undefined => {
  const value: unknown =
    typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
  return typeof value === 'string' ? value : undefined
}

export interface AuthorizationServer {
  readonly issuer: string
  /** What the server calls itself, which need not be the address that it is asked at. */
  readonly base: string
  /** Whether the realm tells an address for it. */
  readonly offers: (member: string) => boolean
  /** The address of an endpoint as the realm tells it. */
  readonly addressOf: (member: string) => string
  /** The same below the server that was asked: a secret is sent nowhere else. */
  readonly pathOf: (member: string) => string
}

const stranger = (http: Http, what: string, status: number): UnreachableError =>
  new UnreachableError(
    http.server,
    'stranger',
    `${http.server} has no ${what}: it is not an iamctl server (${status})`,
  )

/** What a server says of itself is opened in a browser. */
export const noWebAddress = (server: string, named: string): UnreachableError =>
  new UnreachableError(
    server,
    'stranger',
    `${server} names the address ${JSON.stringify(named.slice(0, 200))}, which is none of the web; nothing was opened`,
  )

export const realmPath = (realm: string): string => `/realms/${encodeURIComponent(realm)}`

/** `purpose` says what the realm was needed for, in the message where there is no such realm. */
export const discover = async (
  http: Http,
  realm: string,
  purpose: string,
): Promise<AuthorizationServer> => {
  const path = realmPath(realm)
  const answer = await http.send({ method: 'GET', path: path + wellKnown, uncounted: true })
  if (answer.status === 404)
    throw new CommandError(
      exitCodes.denied,
      `there is no realm "${realm}" ${purpose} at ${http.server}`,
      {
        hint: 'the realm to sign in to is --auth-realm (IAMCTL_AUTH_REALM), "master" unless given',
      },
    )
  const issuer = memberOf(answer, 'issuer')
  const cut = issuer?.lastIndexOf('/realms/') ?? -1
  if (issuer === undefined || cut === -1) throw stranger(http, 'token endpoint', answer.status)
  if (!isWebAddress(issuer)) throw noWebAddress(http.server, issuer)
  const addressOf = (member: string): string => {
    const address = memberOf(answer, member)
    if (address?.startsWith(`${issuer}/`) !== true)
      throw stranger(http, member.replaceAll('_', ' '), answer.status)
    return address
  }
  return {
    issuer,
    base: issuer.slice(0, cut),
    offers: (member) => memberOf(answer, member) !== undefined,
    addressOf,
    pathOf: (member) => path + addressOf(member).slice(issuer.length),
  }
}
