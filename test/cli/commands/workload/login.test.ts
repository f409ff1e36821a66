/** A pipeline signs in with the token of its platform: it plans and applies, and no secret is stored anywhere. */

import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Home } from '../../../support/processes/cli.ts'
import {
  githubProduction,
  githubPullRequest,
  gitlabMain,
  kubernetes,
} from '../../../workload/claim-sets.ts'
import { freshHome, startWorld } from '../fixture/fixture.ts'
import { openRunner, type Runner } from './runner.ts'

const runner: Runner = await openRunner()
const world = startWorld(runner.serverEnv)
afterAll(() => runner.close())

const send = async (method: string, path: string, body?: unknown) => {
  const answer = await world().admin.send(method, `/admin/realms/acme${path}`, body)
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
  return answer
}

const issuerOf = (): string => `${world().server.url}/realms/acme`

const trust = (name: string, subject: string | undefined, clientId: string) =>
  send('POST', '/workload-identity', {
    name,
    issuer: runner.platform.issuer,
    subject,
    audience: issuerOf(),
    clientId,
  })

beforeAll(async () => {
  await send('POST', '/roles', { name: 'deployers' })
  const { body } = await send('GET', '/roles/deployers')
  await send('PUT', `/admin-roles/${(body as { roleId: string }).roleId}`, {
    permissions: ['realm-admin'],
  })
  for (const [clientId, adminAccess] of [
    ['pipeline', 'full'],
    ['pull-requests', 'plan'],
  ]) {
    await send('POST', '/clients', {
      clientId,
      adminAccess,
      serviceAccountsEnabled: true,
      audiences: [`${world().server.url}/admin`],
    })
    await send('POST', `/clients/${clientId}/service-account/roles`, { name: 'deployers' })
  }
  await trust('apply', githubProduction.sub, 'pipeline')
  await trust('plan', githubPullRequest.sub, 'pull-requests')
})

/** A job on a new machine, with a realm file. */
const job = (env: Readonly<Record<string, string>>): Home => {
  const home = freshHome(world(), { IAMCTL_AUTH_REALM: 'acme', IAMCTL_REALM: 'acme', ...env })
  writeFileSync(join(home.folder, 'realm.yaml'), 'realm: acme\nroles:\n  - name: shipper\n')
  return home
}

const login = ['login', '--workload']

describe('login --workload', () => {
  it('a pull request plans, and cannot apply', async () => {
    const home = job(runner.github(githubPullRequest))
    const signedIn = await home.run(login)
    expect(signedIn.stderr).toContain('pull-requests is signed in to realm acme')
    expect(signedIn.code).toBe(0)
    const planned = await home.run(['plan', 'realm.yaml'])
    expect(planned.code, planned.stderr).toBe(0)
    expect(planned.stdout).toContain('1 to add, 0 to change, 0 to destroy')
    const applied = await home.run(['apply', 'realm.yaml', '--auto-approve'])
    expect(applied.code).toBe(4)
    expect((await world().admin.send('GET', '/admin/realms/acme/roles/shipper')).status).toBe(404)
  })

  it('the protected environment applies; when its credential goes, the next command says what to do', async () => {
    const home = job(runner.github(githubProduction))
    expect((await home.run(login)).code).toBe(0)
    const applied = await home.run(['apply', 'realm.yaml', '--auto-approve'])
    expect(applied.code, applied.stderr).toBe(0)
    expect((await world().admin.send('GET', '/admin/realms/acme/roles/shipper')).status).toBe(200)
    const { body } = await send('GET', '/events?type=WORKLOAD_TOKEN&outcome=SUCCESS')
    expect((body as { items: { detail: string }[] }).items[0]?.detail).toContain(
      `issuer "${runner.platform.issuer}"; subject "${githubProduction.sub}"`,
    )
    await send('DELETE', '/workload-identity/apply')
    const late = await home.run(['plan', 'realm.yaml'])
    expect(late.code).toBe(4)
    expect(late.stderr).toContain('realm acme refused the token of this workload')
    expect(late.stderr).toContain(`subject "${githubProduction.sub}"`)
    expect(late.stderr).toContain('iamctl explain workload-identity')
    await trust('apply', githubProduction.sub, 'pipeline')
    expect((await home.run(['plan', 'realm.yaml'])).code).toBe(0)
  })

  it('stores no token: neither the JWT, nor the access token, nor the token of the job', async () => {
    const env = runner.github(githubPullRequest)
    const home = job(env)
    const { code, stdout } = await home.run([...login, '-o', 'json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      username: 'pull-requests',
      signIn: 'workload',
      keptIn: null,
    })
    const files = globSync('**/*', { cwd: join(home.folder, '.config'), withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => readFileSync(join(one.parentPath, one.name), 'utf8'))
    expect(files.length).toBeGreaterThan(0)
    expect(files.join('\n')).not.toMatch(/eyJ/)
    expect(files.join('\n')).not.toContain(env['ACTIONS_ID_TOKEN_REQUEST_TOKEN'])
  })

  it('takes an ID token of GitLab, and a file of Kubernetes or SPIFFE', async () => {
    await trust('gitlab', gitlabMain.sub, 'pipeline')
    await trust('kubernetes', kubernetes.sub, 'pipeline')
    const gitlab = job({
      GITLAB_CI: 'true',
      CI: 'true',
      IAMCTL_ID_TOKEN: await runner.sign(gitlabMain, issuerOf()),
    })
    expect(await gitlab.run(login)).toMatchObject({ code: 0 })
    expect(await gitlab.run(['whoami'])).toMatchObject({ code: 0 })
    const pod = job({})
    const file = join(pod.folder, 'token')
    writeFileSync(file, `${await runner.sign(kubernetes, issuerOf())}\n`)
    expect(await pod.run([...login, '--token-file', 'token'])).toMatchObject({ code: 0 })
    // The platform renews the file, and each command reads it.
    writeFileSync(file, 'garbage')
    expect((await pod.run(['whoami'])).code).toBe(4)
    writeFileSync(file, await runner.sign(kubernetes, issuerOf()))
    expect((await pod.run(['whoami'])).code).toBe(0)
    expect((await pod.run(['logout'])).code).toBe(0)
    expect((await pod.run(['whoami'])).code).toBe(4)
  })

  it('says what the platform lacks', async () => {
    const cases: readonly [Record<string, string>, string][] = [
      [{ GITHUB_ACTIONS: 'true' }, 'id-token: write'],
      [{ GITLAB_CI: 'true' }, 'IAMCTL_ID_TOKEN'],
      [{}, '--token-file'],
    ]
    for (const [env, hint] of cases) {
      const { code, stderr } = await job(env).run(login)
      expect(code, stderr).toBe(1)
      expect(stderr).toContain(hint)
    }
  })

  it('shows issuer, subject and audience of a refused JWT, which the server does not tell', async () => {
    const { code, stderr } = await job(
      runner.github({ ...githubProduction, sub: 'repo:mallory/identity:pull_request' }),
    ).run(login)
    expect(code).toBe(4)
    expect(stderr).toContain('subject "repo:mallory/identity:pull_request"')
    expect(stderr).toContain(`audience "${issuerOf()}"`)
  })

  it('a realm file of a pull request cannot read the token of the job', async () => {
    const home = job(runner.github(githubPullRequest))
    expect((await home.run(login)).code).toBe(0)
    const reference = ['$', '{env:ACTIONS_ID_TOKEN_REQUEST_TOKEN}'].join('')
    const file = `realm: acme\nroles:\n  - { name: x, description: "${reference}" }\n`
    writeFileSync(join(home.folder, 'realm.yaml'), file)
    const { code } = await home.run(['plan', 'realm.yaml'])
    expect(code).toBe(3)
  })

  it('a server that only iamctl.yaml names gets no token of the workload', async () => {
    const home = freshHome(world(), { ...runner.github(githubPullRequest), IAMCTL_SERVER: '' })
    writeFileSync(
      join(home.folder, 'iamctl.yaml'),
      'source: x\ndefaultContext: evil\ncontexts:\n  evil: { server: https://evil.example, authRealm: acme }\n',
    )
    const { code, stderr } = await home.run(login)
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining('only iamctl.yaml names this server'),
    ])
  })

  it('doctor warns of a credential that trusts a name', async () => {
    await send('POST', '/workload-identity', {
      name: 'by name',
      issuer: 'https://token.actions.githubusercontent.com',
      subject: 'repo:acme/shop:pull_request',
      audience: issuerOf(),
      clientId: 'pull-requests',
    })
    const { stdout } = await world().home.run(['doctor', '-o', 'json'])
    expect(JSON.parse(stdout).findings).toContainEqual({
      check: 'mutable-subject',
      status: 'warning',
      message: expect.stringContaining('workload-identity "by name", subject'),
      remedy: expect.stringContaining('repo:acme@OWNER_ID/shop@REPOSITORY_ID:pull_request'),
    })
  })
})
