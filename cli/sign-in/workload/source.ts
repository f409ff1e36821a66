/**
 * Where the JWT of a workload comes from: the OIDC endpoint of GitHub Actions, an ID token variable of GitLab CI, or a file that
 * the platform writes and renews (a projected token of Kubernetes, a JWT-SVID of SPIFFE). It is read again for each exchange
 * and never stored.
 */

import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { refusePlainHttp } from '../../client/address.ts'
import { memberOf } from '../../client/discovery.ts'
import { withHint } from '../../client/http/errors.ts'
import { createHttp } from '../../client/http/http.ts'
import type { Env, WorkloadSource } from '../../context/store.ts'
import { CommandError, exitCodes } from '../../exit.ts'

/** The variable that a job of GitLab declares below `id_tokens`. */
const gitlabVariable = 'IAMCTL_ID_TOKEN'
/** Where the documented volume of Kubernetes mounts it. */
const kubernetesFile = '/var/run/secrets/iamctl/token'

const githubUrl = 'ACTIONS_ID_TOKEN_REQUEST_URL'
const githubToken = 'ACTIONS_ID_TOKEN_REQUEST_TOKEN'

const missing = (message: string, hint: string): CommandError =>
  new CommandError(exitCodes.error, message, { hint })

const none = (env: Env): CommandError => {
  if (env['GITHUB_ACTIONS'])
    return missing(
      'the job may not ask GitHub for an ID token',
      'give the job `permissions: { id-token: write }`',
    )
  if (env['GITLAB_CI'])
    return missing(
      `the job has no ID token in ${gitlabVariable}`,
      `add \`id_tokens: { ${gitlabVariable}: { aud: ADDRESS-OF-THE-REALM } }\` to the job`,
    )
  return missing(
    'this machine offers no token of a workload',
    'name the file that the platform writes it to: --token-file FILE',
  )
}

export const workloadSource = (
  env: Env,
  file: string | undefined,
  audience: string,
): WorkloadSource => {
  if (file !== undefined) return { from: 'file', file: resolve(file), audience }
  if (env[githubUrl] && env[githubToken]) return { from: 'github', audience }
  if (env[gitlabVariable]) return { from: 'gitlab', audience }
  if (existsSync(kubernetesFile)) return { from: 'file', file: kubernetesFile, audience }
  throw none(env)
}

const timeoutMs = 30_000

const fromGithub = async (env: Env, audience: string): Promise<string> => {
  const url = URL.parse(env[githubUrl] ?? '')
  if (!url || !env[githubToken]) throw none(env)
  refusePlainHttp(url.origin, false)
  url.searchParams.set('audience', audience)
  const http = createHttp({ server: url.origin, timeoutMs, slowTimeoutMs: timeoutMs, env })
  try {
    const answer = await http.send({
      method: 'GET',
      path: `${url.pathname}${url.search}`,
      headers: { authorization: `Bearer ${env[githubToken]}`, accept: 'application/json' },
    })
    const value = memberOf(answer, 'value')
    if (value !== undefined) return value
    throw new CommandError(
      exitCodes.denied,
      `GitHub gave no ID token for the audience ${audience} (${answer.status})`,
      { hint: 'give the job `permissions: { id-token: write }`' },
    )
  } catch (error) {
    throw withHint(error, `check ${githubUrl}, which GitHub sets, and the network of the runner`)
  } finally {
    await http.close()
  }
}

const fromFile = (file: string): string => {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new CommandError(exitCodes.error, `the token file ${file} cannot be read`, {
      hint: 'check the path and the volume that it is mounted from',
      cause,
    })
  }
}

/** As it is now: platforms renew it before it expires. */
export const workloadJwt = async (env: Env, source: WorkloadSource): Promise<string> => {
  if (source.from === 'github') return fromGithub(env, source.audience)
  if (source.from === 'file') return fromFile(source.file)
  const token = env[gitlabVariable]
  if (!token) throw none(env)
  return token
}
