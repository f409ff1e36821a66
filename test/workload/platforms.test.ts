/** The tokens of real platforms: each workload gets a token, and no neighbour of it does. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runUrlOf } from '#server/provisioning/workload/run-url.ts'
import { anyBackend } from '../support/backends.ts'
import {
  githubImmutable,
  githubMain,
  githubProduction,
  githubPullRequest,
  githubSquatted,
  gitlabFork,
  gitlabMain,
  kubernetes,
  spiffe,
} from './claim-sets.ts'
import { audience, type Changes, openWorkloadSite, type WorkloadSite } from './fixture.ts'

describe.each(anyBackend)('tokens of platforms on $name', (backend) => {
  let world: WorkloadSite

  beforeAll(async () => {
    world = await openWorkloadSite(backend)
  })
  afterAll(() => world.close())

  const status = async (claims: Changes): Promise<number> =>
    (await world.exchange(await world.jwt(claims))).status

  it('GitHub: the protected branch passes, a pull request does not', async () => {
    const { sub } = githubMain
    await world.credentialWith({
      name: 'github',
      subject: String(sub),
      claims: { repository_id: '74', ref_protected: 'true' },
    })
    expect(await status(githubMain)).toBe(200)
    expect(await status(githubPullRequest)).toBe(401)
    expect(await status({ ...githubPullRequest, sub })).toBe(401)
  })

  it('GitHub: a repository that took over the name is refused by its id', async () => {
    expect(await status(githubSquatted)).toBe(401)
  })

  it('GitHub: the immutable subject and the environment are subjects as any', async () => {
    await world.credentialWith({ name: 'immutable', subject: String(githubImmutable.sub) })
    await world.credentialWith({ name: 'production', subject: String(githubProduction.sub) })
    expect(await status(githubImmutable)).toBe(200)
    expect(await status(githubProduction)).toBe(200)
    expect(
      await status({ ...githubImmutable, sub: githubImmutable.sub?.replace('@74', '@75') }),
    ).toBe(401)
  })

  it('GitLab: the protected branch passes, the merge request of a fork does not', async () => {
    await world.credentialWith({
      name: 'gitlab',
      subject: String(gitlabMain.sub),
      claims: { project_id: '20', ref_protected: 'true' },
    })
    expect(await status(gitlabMain)).toBe(200)
    expect(await status(gitlabFork)).toBe(401)
    expect(await status({ ...gitlabFork, sub: gitlabMain.sub })).toBe(401)
  })

  it('Kubernetes: a bound service account token passes, by the key set of the cluster', async () => {
    const { platform } = world
    await world.credentialWith({
      name: 'kubernetes',
      issuer: 'https://kubernetes.default.svc.cluster.local',
      jwksUri: platform.jwksUri,
      subject: String(kubernetes.sub),
    })
    const iss = 'https://kubernetes.default.svc.cluster.local'
    const iat = Math.floor(world.clock.now() / 1000)
    const hour = { iss, aud: [audience], iat, exp: iat + 3607, nbf: iat }
    expect(await status({ ...kubernetes, ...hour })).toBe(200)
    expect(
      await status({ ...kubernetes, ...hour, sub: 'system:serviceaccount:other:iamctl' }),
    ).toBe(401)
    // The token of the default volume, which every server of the cluster receives.
    expect(await status({ ...kubernetes, ...hour, aud: [iss] })).toBe(401)
  })

  it('SPIFFE: a JWT-SVID passes, with an audience list of one', async () => {
    await world.credentialWith({ name: 'spiffe', subject: String(spiffe.sub) })
    expect(await status({ ...spiffe, aud: [audience], nbf: undefined })).toBe(200)
    expect(await status({ ...spiffe, sub: 'spiffe://evil.example/ns/identity/sa/iamctl' })).toBe(
      401,
    )
  })

  it('a run of a pipeline is named in the audit event', async () => {
    await status(gitlabMain)
    const [event] = await world.site.events('WORKLOAD_TOKEN')
    expect(event?.detail).toContain(`run ${world.platform.issuer}/acme/identity/-/jobs/302`)
  })
})

describe('the address of a run', () => {
  const github = 'https://token.actions.githubusercontent.com'

  const run = '/acme/identity/actions/runs/1234567890/attempts/2'
  it.each([
    [github, `https://github.com${run}`],
    [`${github}/acme-group`, `https://github.com${run}`],
    ['https://token.actions.acme.ghe.com', `https://acme.ghe.com${run}`],
    ['https://github.acme.example/_services/token', `https://github.acme.example${run}`],
  ])('is known of GitHub with the issuer %s', (iss, url) => {
    expect(runUrlOf({ ...githubMain, iss })).toBe(url)
  })

  it.each([
    [gitlabMain, 'https://gitlab.example', 'https://gitlab.example/acme/identity/-/jobs/302'],
    [
      gitlabMain,
      'https://acme.example/gitlab',
      'https://acme.example/gitlab/acme/identity/-/jobs/302',
    ],
    // The job ran in the project that the merge request is for.
    [gitlabFork, 'https://gitlab.example', 'https://gitlab.example/acme/identity/-/jobs/302'],
    [
      { ...gitlabMain, job_project_path: undefined },
      'https://gitlab.example',
      'https://gitlab.example/acme/identity/-/jobs/302',
    ],
  ])('is known of GitLab (%#)', (claims, iss, url) => {
    expect(runUrlOf({ ...claims, iss })).toBe(url)
  })

  it('is never made of what is no path and no number', () => {
    expect(runUrlOf({ ...githubMain, iss: github, repository: '../../evil' })).toBeUndefined()
    expect(runUrlOf({ ...githubMain, iss: github, repository: 'a/b?x=\u001b' })).toBeUndefined()
    expect(runUrlOf({ ...githubMain, iss: github, run_id: 'x' })).toBeUndefined()
    expect(runUrlOf({ ...gitlabMain, iss: 'javascript:alert(1)' })).toBeUndefined()
    expect(runUrlOf({ ...gitlabMain, iss: 'https://x.example', job_project_path: '..' })).toBe(
      undefined,
    )
    expect(runUrlOf({ sub: 'x' })).toBeUndefined()
  })
})
