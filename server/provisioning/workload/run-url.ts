/** The page of the pipeline run that a JWT was made in, of the claims that GitHub Actions and GitLab CI put into it. */

import type { WorkloadClaims } from './workload-token.ts'

const github = 'https://token.actions.githubusercontent.com'

/** Nothing that could lead out of the path, or mislead a reader of the event. */
const isPath = (value: unknown): value is string =>
  typeof value === 'string' && /^\w[\w.-]*(?:\/\w[\w.-]*)+$/.test(value) && value.length <= 300

const isNumber = (value: unknown): value is string | number => /^\d{1,20}$/.test(String(value))

export const runUrlOf = (claims: WorkloadClaims): string | undefined => {
  const { iss, repository, run_id: run, project_path: project, job_id: job } = claims
  if (iss === github && isPath(repository) && isNumber(run))
    return `https://github.com/${repository}/actions/runs/${run}`
  // GitLab is its own issuer.
  if (typeof iss === 'string' && isPath(project) && isNumber(job) && URL.canParse(iss))
    return `${new URL(iss).origin}/${project}/-/jobs/${job}`
  return undefined
}
