/**
 * Where an apply comes from, for the history: the commit, the repository and the CI run. From the CI's own variables
 * where there are any, else from git. What is not known is left out; nothing of it can make an apply fail.
 */

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

const git = async (cwd: string, ...args: string[]): Promise<string | undefined> => {
  const { execa } = await import('execa')
  const { stdout, failed } = await execa('git', args, {
    cwd,
    reject: false,
    timeout: 2000,
    stdin: 'ignore',
  })
  return failed || stdout === '' ? undefined : stdout
}

const fromGit = async (cwd: string): Promise<Record<string, string>> => {
  const [commit, branch, remote, dirty] = await Promise.all([
    git(cwd, 'rev-parse', 'HEAD'),
    git(cwd, 'rev-parse', '--abbrev-ref', 'HEAD'),
    git(cwd, 'remote', 'get-url', 'origin'),
    git(cwd, 'status', '--porcelain', '--untracked-files=no', '.'),
  ])
  if (commit === undefined) return {}
  return {
    commit,
    ...(branch === undefined ? {} : { branch }),
    ...(remote === undefined ? {} : { repository: withoutCredentials(remote) }),
    ...(dirty === undefined ? {} : { uncommitted: 'true' }),
  }
}

const shortened = (text: string): string => text.slice(0, 2000)

export const provenanceOf = async (
  cwd: string,
  env: Env,
  version: string,
): Promise<Record<string, string>> => {
  const known = { ...(await fromGit(cwd)), ...fromVariables(env), iamctl: version }
  return Object.fromEntries(
    Object.entries(known).map(([word, text]) => [word, shortened(text)] as const),
  )
}
