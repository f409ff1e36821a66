/** The page of the pipeline run that a JWT was made in, of the claims that GitHub Actions and GitLab CI put into it. */

import type { WorkloadClaims } from './workload-token.ts'

/** Nothing that could lead out of the path, or mislead a reader of the event. */
const isPath = (value: unknown): value is string =>
  typeof value === 'string' && /^\w[\w.-]*(?:\/\w[\w.-]*)+$/.test(value) && value.length <= 300

const isNumber = (value: unknown): value is string | number => /^\d{1,20}$/.test(String(value))

/** The web address of the GitHub that an issuer belongs to, as its documentation names them; undefined for any other. */
const githubOf = ({ origin, hostname, pathname }: URL): string | undefined => {
  // An enterprise may have its own name in the path of the issuer.
  if (hostname === 'token.actions.githubusercontent.com') return 'https://github.com'
  const [, tenant] = /^token\.actions\.([a-z0-9-]+\.ghe\.com)$/.exec(hostname) ?? []
  if (tenant !== undefined) return `https://${tenant}`
  return pathname === '/_services/token' ? origin : undefined
}

const githubRun = (web: string, claims: WorkloadClaims): string | undefined => {
  const { repository, run_id: run, run_attempt: attempt } = claims
  if (!isPath(repository) || !isNumber(run)) return undefined
  const page = `${web}/${repository}/actions/runs/${run}`
  return isNumber(attempt) ? `${page}/attempts/${attempt}` : page
}

/** GitLab is its own issuer, below a path where it is installed below one. */
const gitlabJob = (issuer: string, claims: WorkloadClaims): string | undefined => {
  // `project_path` is of the fork where a merge request runs in the project that it is for (GitLab 18.4).
  const { project_path: source, job_project_path: project = source, job_id: job } = claims
  if (!isPath(project) || !isNumber(job)) return undefined
  return `${issuer.replace(/\/$/, '')}/${project}/-/jobs/${job}`
}

export const runUrlOf = (claims: WorkloadClaims): string | undefined => {
  const { iss } = claims
  if (typeof iss !== 'string' || !URL.canParse(iss)) return undefined
  const issuer = new URL(iss)
  if (issuer.protocol !== 'https:') return undefined
  const github = githubOf(issuer)
  return github === undefined ? gitlabJob(issuer.href, claims) : githubRun(github, claims)
}
