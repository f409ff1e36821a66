/**
 * The claims of the tokens that platforms give to their workloads, as their documentation shows them (GitHub "OpenID Connect
 * reference", GitLab "OpenID Connect ID tokens", Kubernetes "bound service account tokens", SPIFFE JWT-SVID §3).
 */

import type { JWTPayload } from 'jose'

const githubRun = {
  jti: 'b5a8e2f1-example',
  ref: 'refs/heads/main',
  sha: 'a1b2c3',
  repository: 'acme/identity',
  repository_owner: 'acme',
  repository_owner_id: '65',
  repository_id: '74',
  repository_visibility: 'private',
  enterprise: 'acme-group',
  enterprise_id: '8',
  run_id: '1234567890',
  run_number: '10',
  run_attempt: '2',
  runner_environment: 'github-hosted',
  actor: 'octocat',
  actor_id: '12',
  workflow: 'iamctl',
  workflow_ref: 'acme/identity/.github/workflows/iamctl.yml@refs/heads/main',
  workflow_sha: 'a1b2c3',
  head_ref: '',
  base_ref: '',
  event_name: 'push',
  ref_type: 'branch',
  ref_protected: 'true',
  job_workflow_ref: 'acme/identity/.github/workflows/iamctl.yml@refs/heads/main',
  job_workflow_sha: 'a1b2c3',
}

/** Of repositories from before July 2026. */
export const githubMain: JWTPayload = {
  ...githubRun,
  sub: 'repo:acme/identity:ref:refs/heads/main',
}

/** A job with `environment: production`. */
export const githubProduction: JWTPayload = {
  ...githubRun,
  environment: 'production',
  sub: 'repo:acme/identity:environment:production',
}

/** Of repositories that were made or renamed since: ids stand beside the names. */
export const githubImmutable: JWTPayload = {
  ...githubRun,
  sub: 'repo:acme@65/identity@74:ref:refs/heads/main',
}

export const githubPullRequest: JWTPayload = {
  ...githubRun,
  sub: 'repo:acme/identity:pull_request',
  ref: 'refs/pull/7/merge',
  head_ref: 'change',
  base_ref: 'main',
  event_name: 'pull_request',
  ref_protected: 'false',
  workflow_ref: 'acme/identity/.github/workflows/iamctl.yml@refs/pull/7/merge',
  job_workflow_ref: 'acme/identity/.github/workflows/iamctl.yml@refs/pull/7/merge',
}

/** A repository of another owner with the name of one that was deleted. */
export const githubSquatted: JWTPayload = {
  ...githubMain,
  repository_owner_id: '999',
  repository_id: '9999',
}

const gitlabJob = {
  jti: 'c82eeb0c-5c6f-4a33-abf5-4c474b92b558',
  namespace_id: '72',
  namespace_path: 'acme',
  project_id: '20',
  project_path: 'acme/identity',
  user_id: '1',
  user_login: 'sample-user',
  user_email: 'sample-user@example.com',
  user_access_level: 'developer',
  job_project_id: '20',
  job_project_path: 'acme/identity',
  job_namespace_id: '72',
  job_namespace_path: 'acme',
  pipeline_id: '574',
  pipeline_source: 'push',
  job_id: '302',
  ref: 'main',
  ref_type: 'branch',
  ref_path: 'refs/heads/main',
  ref_protected: 'true',
  runner_id: 1,
  runner_environment: 'gitlab-hosted',
  sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
  project_visibility: 'private',
  ci_config_ref_uri: 'gitlab.example/acme/identity//.gitlab-ci.yml@refs/heads/main',
  ci_config_sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
}

export const gitlabMain: JWTPayload = {
  ...gitlabJob,
  sub: 'project_path:acme/identity:ref_type:branch:ref:main',
}

/** The pipeline of a merge request from a fork, which runs in the project that it is for: `project_*` name the fork. */
export const gitlabFork: JWTPayload = {
  ...gitlabJob,
  sub: 'project_path:mallory/identity:ref_type:branch:ref:main',
  namespace_id: '666',
  namespace_path: 'mallory',
  project_id: '6660',
  project_path: 'mallory/identity',
  pipeline_source: 'merge_request_event',
  ref_protected: 'false',
}

export const kubernetes: JWTPayload = {
  sub: 'system:serviceaccount:identity:iamctl',
  jti: '0b7e1f2c-example',
  'kubernetes.io': {
    namespace: 'identity',
    node: { name: 'node-1', uid: '5e2b' },
    pod: { name: 'iamctl-0', uid: '9d8a' },
    serviceaccount: { name: 'iamctl', uid: '7c1f' },
  },
}

/** `sub`, `aud` and `exp` are required (§3); SPIRE adds `iat`, without which the life of a token has no bound. */
export const spiffe: JWTPayload = { sub: 'spiffe://acme.example/ns/identity/sa/iamctl' }
