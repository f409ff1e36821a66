/** Signs a workload in: one exchange, and a check for admin permissions, before anything is stored. */

import { createApi } from '../../client/api.ts'
import { discover } from '../../client/discovery.ts'
import { isProblem } from '../../client/http/errors.ts'
import type { Http } from '../../client/http/http.ts'
import { createSession } from '../../client/session.ts'
import type { Env, WorkloadSource } from '../../context/store.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { workloadJwt, workloadSource } from './source.ts'

export interface WorkloadSignIn {
  readonly http: Http
  readonly realm: string
  readonly env: Env
  readonly tokenFile: string | undefined
  readonly audience: string | undefined
}

export const signInWorkload = async (
  parts: WorkloadSignIn,
): Promise<{ readonly username: string; readonly workload: WorkloadSource }> => {
  const { http, realm, env, tokenFile } = parts
  // The issuer of the realm is the audience of what is meant for it (RFC 7523 §3).
  const audience = parts.audience ?? (await discover(http, realm, 'for the workload')).issuer
  const workload = workloadSource(env, tokenFile, audience)
  const jwt = (): Promise<string> => workloadJwt(env, workload)
  const session = createSession(http, { by: 'workload', realm, jwt })
  try {
    const { username } = await createApi(http, session).whoami(realm)
    return { username, workload }
  } catch (error) {
    if (!isProblem(error, 401) && !isProblem(error, 403)) throw error
    throw new CommandError(
      exitCodes.denied,
      `the client of this workload may not administer realm ${realm}`,
      {
        hint: `the client needs the audience of the admin API (audiences: [${http.server}/admin]) and a role with admin permissions (serviceAccountRoles)`,
        cause: error,
      },
    )
  }
}
