/**
 * The provenance of an apply, for the history: commit, repository and CI run, from the variables of the CI system, else
 * from git. Unknown values are omitted; provenance never makes an apply fail.
 */

import { fittingRevision } from '../../schemas/wire/revision-text.ts'
import { runGit } from '../git.ts'

type Env = Readonly<Record<string, string | undefined>>

/** How the common pipelines tell; the first that is set wins. */
const variables: Readonly<Record<string, readonly string[]>> = {
  commit: ['GITHUB_SHA', 'CI_COMMIT_SHA', 'BUILD_SOURCEVERSION', 'BITBUCKET_COMMIT'],
  branch: ['GITHUB_REF_NAME', 'CI_COMMIT_REF_NAME', 'BUILD_SOURCEBRANCHNAME', 'BITBUCKET_BRANCH'],
  repository: ['GITHUB_REPOSITORY', 'CI_PROJECT_PATH', 'BUILD_REPOSITORY_NAME'],
  run: ['CI_JOB_URL', 'CI_PIPELINE_URL', 'BUILD_URL'],
  triggeredBy: ['GITHUB_ACTOR', 'GITLAB_USER_LOGIN', 'BUILD_REQUESTEDFOR'],
}

const fromVariables = (env: Env): Record<string, string> => {
  const found: Record<string, string> = {}
  for (const [word, names] of Object.entries(variables)) {
    const value = names.map((name) => env[name]).find((text) => text)
    if (value) found[word] = value
  }
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run } = env
  if (server && repository && run) found['run'] = `${server}/${repository}/actions/runs/${run}`
  return found
}

/** A remote may carry a password or a token. */
const withoutCredentials = (remote: string): string =>
  remote.replace(/^([a-z+]+:\/\/)[^/@]*@/i, '$1')

const longest = 2000

const git = async (cwd: string, env: Env, ...args: string[]): Promise<string | undefined> => {
  const { stdout, failed } = await runGit(cwd, env, longest, ...args)
  return failed || stdout === '' ? undefined : stdout
}

const fromGit = async (cwd: string, env: Env): Promise<Record<string, string>> => {
  const [commit, branch, remote, dirty] = await Promise.all([
    git(cwd, env, 'rev-parse', 'HEAD'),
    git(cwd, env, 'rev-parse', '--abbrev-ref', 'HEAD'),
    git(cwd, env, 'remote', 'get-url', 'origin'),
    git(cwd, env, 'status', '--porcelain', '--untracked-files=no', '--ignore-submodules=all', '.'),
  ])
  if (commit === undefined) return {}
  return {
    commit,
    ...(branch === undefined ? {} : { branch }),
    ...(remote === undefined ? {} : { repository: withoutCredentials(remote) }),
    ...(dirty === undefined ? {} : { uncommitted: 'true' }),
  }
}

export const provenanceOf = async (
  cwd: string,
  env: Env,
  version: string,
): Promise<Record<string, string>> => {
  const known = { ...(await fromGit(cwd, env)), ...fromVariables(env), iamctl: version }
  return Object.fromEntries(
    Object.entries(known).map(([word, text]) => [word, fittingRevision(text)] as const),
  )
}
