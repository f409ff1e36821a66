/**
 * Access tokens for the JWT of a workload (RFC 8693): no secret is stored, neither in the pipeline nor on this machine. The
 * token stays in memory and is asked for again when the server does not take it any more.
 */

import { isObject } from '#schemas/json-schema.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { memberOf, realmPath } from '../discovery.ts'
import { UnreachableError } from '../http/errors.ts'
import type { Http, HttpAnswer } from '../http/http.ts'

export interface WorkloadCredentials {
  /** The realm with the workload credential. */
  readonly realm: string
  /** Read when it is needed. */
  readonly jwt: () => Promise<string>
}

const claimsOf = (jwt: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(
      Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8'),
    )
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** What the JWT says, for the person who writes the credential. The server does not tell which part did not fit. */
const said = (jwt: string): string => {
  const { iss, sub, aud } = claimsOf(jwt)
  return [
    `issuer ${JSON.stringify(iss ?? null)}`,
    `subject ${JSON.stringify(sub ?? null)}`,
    `audience ${JSON.stringify(aud ?? null)}`,
  ].join(', ')
}

const refused = (answer: HttpAnswer, realm: string, jwt: string): CommandError =>
  answer.status === 404
    ? new CommandError(exitCodes.denied, `realm ${realm} has no exchange for tokens of workloads`, {
        hint: 'check --auth-realm (IAMCTL_AUTH_REALM), and that the server serves workload identity',
      })
    : new CommandError(
        exitCodes.denied,
        `realm ${realm} refused the token of this workload: ${said(jwt)}`,
        {
          hint: 'an enabled workload credential of the realm must have exactly these values (`iamctl explain workload-identity`); an administrator sees the reason with `iamctl events --type WORKLOAD_TOKEN`',
        },
      )

const tokenPath = '/workload-identity/token'

export const requestWorkloadToken = async (
  http: Http,
  { realm, jwt }: WorkloadCredentials,
): Promise<string> => {
  const subjectToken = await jwt()
  const answer = await http.send({
    method: 'POST',
    path: `${realmPath(realm)}${tokenPath}`,
    uncounted: true,
    repeatable: true,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    }).toString(),
  })
  const token = memberOf(answer, 'access_token')
  if (token !== undefined) return token
  if (answer.status >= 500)
    throw new UnreachableError(
      http.server,
      'stranger',
      `the exchange of workload tokens at ${http.server} failed (${answer.status})`,
    )
  throw refused(answer, realm, subjectToken)
}
