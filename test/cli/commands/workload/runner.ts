/** A machine of a CI system: a platform that signs JWTs, the OIDC endpoint of GitHub in front of it, and a server that trusts it. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JWTPayload } from 'jose'
import { openPlatform, type Platform } from '../../../workload/platform.ts'

export interface Runner {
  readonly platform: Platform
  /** For a server that is to trust the platform. */
  readonly serverEnv: Readonly<Record<string, string>>
  /** Of a job with `id-token: write`, whose JWT has these claims. */
  github(claims: JWTPayload): Record<string, string>
  sign(claims: JWTPayload, audience: string): Promise<string>
  close(): Promise<void>
}

export const openRunner = async (): Promise<Runner> => {
  const platform = await openPlatform()
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-runner-'))
  const ca = join(folder, 'ca.pem')
  writeFileSync(ca, platform.receiver.certificate)
  const jobs = new Map<string, JWTPayload>()

  const sign: Runner['sign'] = (claims, aud) => {
    const iat = Math.floor(Date.now() / 1000)
    return platform.sign({ iss: platform.issuer, aud, iat, nbf: iat, exp: iat + 300, ...claims })
  }

  // As GitHub answers: the job's own token asks, and names the audience.
  const server = createServer(async (request, response) => {
    const job = jobs.get(String(request.headers.authorization))
    const audience = new URL(request.url ?? '/', 'http://runner').searchParams.get('audience')
    response.setHeader('content-type', 'application/json')
    if (!job || audience === null) return response.writeHead(401).end('{}')
    return response.end(JSON.stringify({ count: 1, value: await sign(job, audience) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    platform,
    serverEnv: { NODE_EXTRA_CA_CERTS: ca, IAMCTL_OUTGOING_ALLOW: 'localhost' },
    github: (claims) => {
      const token = `job-${jobs.size}`
      jobs.set(`Bearer ${token}`, claims)
      return {
        GITHUB_ACTIONS: 'true',
        CI: 'true',
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/idtoken?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: token,
      }
    },
    sign,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await platform.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Job = Readonly<Record<string, string>>

/** The variables of the jobs that the files of `iamctl init` trust, where no remote tells the names of the repository. */
export const generatedJobs = async (
  { github, sign }: Runner,
  ci: string,
  realmUrl: string,
): Promise<Readonly<Record<'plan' | 'apply' | 'drift', Job>>> => {
  if (ci === 'github') {
    const job = (rest: string): Job =>
      github({
        sub: `repo:OWNER@OWNER_ID/REPOSITORY@REPOSITORY_ID:${rest}`,
        ref: 'refs/heads/main',
      })
    return {
      plan: job('pull_request'),
      apply: job('environment:production'),
      drift: job('ref:refs/heads/main'),
    }
  }
  const job = async (audience: string, claims: JWTPayload): Promise<Job> => ({
    GITLAB_CI: 'true',
    IAMCTL_ID_TOKEN: await sign(
      { sub: 'project_path:OWNER/REPOSITORY', project_id: 'PROJECT_ID', ...claims },
      audience,
    ),
  })
  const main = { ref_path: 'refs/heads/main', ref_protected: 'true' }
  const change = { ref_path: 'refs/heads/change', ref_protected: 'false' }
  return {
    plan: await job(`${realmUrl}/plan`, change),
    apply: await job(realmUrl, main),
    drift: await job(`${realmUrl}/plan`, main),
  }
}

/** The platforms themselves are not here: the files trust the issuer of the test. */
export const trusting = ({ platform }: Runner, pipelineFile: string): string =>
  pipelineFile.replaceAll(/issuer: .*/g, `issuer: ${platform.issuer}`)
