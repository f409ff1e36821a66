/** The pipelines that `iamctl init` writes are run, step by step, in fresh checkouts against a server. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import manifest from '../../../../package.json' with { type: 'json' }
import { bundle } from '../../../support/processes/cli.ts'
import { type Registry, startRegistry } from '../../../support/processes/programs/registry.ts'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { startWorld } from '../fixture/fixture.ts'
import { githubSteps, gitlabSteps, type Step, type Values } from './pipeline-steps.ts'

const world = startWorld()

const secrets = {
  PIPELINE_SECRET: 'the-secret-of-the-apply-0123456789abcdef',
  PULL_REQUESTS_SECRET: 'the-secret-of-pull-requests-0123456789ab',
}
type SecretName = keyof typeof secrets

/** Comments, as the API of GitLab takes them. */
const startNotes = async () => {
  const notes: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    notes.push(`${request.method} ${request.url} ${new URLSearchParams(text).get('body')}`)
    response.statusCode = request.headers['private-token'] === 'token' ? 201 : 401
    response.end('{}')
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v4`
  return { url, notes, close: () => server.close() }
}

const git = (cwd: string, ...args: string[]) =>
  execa('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@acme.example', ...args], { cwd })

const install = 'npm install --global --ignore-scripts "$IAMCTL_PACKAGE"'

describe('the generated pipeline', () => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-pipeline-'))
  const [prefix, tools] = [join(folder, 'prefix'), join(folder, 'tools')]
  const comment = join(folder, 'comment')
  /** Packing takes long: the first estate packs the program, the second one names that package. */
  const packed = join(folder, 'iamctl.tgz')
  let registry: Registry
  let gitlab: Awaited<ReturnType<typeof startNotes>>

  beforeAll(async () => {
    registry = await startRegistry()
    gitlab = await startNotes()
    mkdirSync(tools)
    // The one program of the runner that cannot be run here.
    writeFileSync(
      join(tools, 'gh'),
      `#!/bin/sh\necho "$@" > '${comment}'\ncat "$5" >> '${comment}'\n`,
    )
    chmodSync(join(tools, 'gh'), 0o755)
  })
  afterAll(() => {
    registry.close()
    gitlab.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A machine that has nothing but Node.js, npm and Git. */
  const runner = (): Record<string, string> => ({
    HOME: folder,
    PATH: [join(prefix, 'bin'), tools, dirname(process.execPath), process.env['PATH']].join(':'),
    npm_config_prefix: prefix,
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, 'cache'),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    CI: 'true',
    GITHUB_STEP_SUMMARY: join(folder, 'summary'),
  })

  /** Every job installs the same package: after the first one it is there. */
  const scriptOf = ({ script }: Step): string =>
    existsSync(join(prefix, 'bin/iamctl')) ? script.replace(install, 'true') : script

  const sh = (step: Step, checkout: string) =>
    execa('bash', ['-e', '-c', scriptOf(step)], {
      cwd: join(checkout, step.folder),
      env: { ...runner(), ...step.env },
      extendEnv: false,
      reject: false,
      all: true,
      stdin: 'ignore',
    })

  const systems = {
    github: {
      fileOf: (realm: string) => `.github/workflows/iamctl-${realm}.yml`,
      stepsOf: githubSteps,
      valuesOf: (known: readonly SecretName[], message: string): Values => ({
        ...Object.fromEntries(known.map((name) => [`secrets.${name}`, secrets[name]])),
        'github.token': 'token',
        'github.repository': 'acme/identity',
        'github.event.pull_request.number': '7',
        'github.event.head_commit.message': message,
      }),
      comment: () => readFileSync(comment, 'utf8'),
      place: 'pr comment 7',
    },
    gitlab: {
      fileOf: () => '.gitlab-ci.yml',
      stepsOf: gitlabSteps,
      valuesOf: (known: readonly SecretName[], message: string): Values => ({
        ...Object.fromEntries(known.map((name) => [name, secrets[name]])),
        GITLAB_TOKEN: 'token',
        CI_API_V4_URL: gitlab.url,
        CI_PROJECT_ID: '3',
        CI_MERGE_REQUEST_IID: '7',
        CI_COMMIT_MESSAGE: message,
      }),
      comment: () => gitlab.notes.at(-1) ?? '',
      place: '/projects/3/merge_requests/7/notes',
    },
  }

  /** Writes the estate into a new repository. */
  const begin = async (root: string, system: string, realm: string): Promise<string> => {
    const estate = join(root, 'identity/shop')
    await git(root, 'init', '--quiet', '--initial-branch=main')
    const named = existsSync(packed) ? ['--package', './vendor/iamctl.tgz'] : []
    const flags = ['--ci', system, '--realm', realm, '--server', world().server.url, ...named]
    const env = { ...runner(), HOME: root }
    await execa(process.execPath, [bundle, 'init', 'identity/shop', ...flags], { cwd: root, env })
    if (existsSync(packed)) cpSync(packed, join(estate, 'vendor/iamctl.tgz'))
    else cpSync(join(estate, `.iamctl/iamctl-${manifest.version}.tgz`), packed)
    return estate
  }

  it.each(['github', 'gitlab'] as const)(
    'of %s validates and plans a pull request without the secret of the apply, applies on main, and finds drift',
    async (system) => {
      const { fileOf, stepsOf, valuesOf, comment: commentOf, place } = systems[system]
      const realm = newRealm()
      const { run, folder: root } = newEstate(world(), {})
      const estate = await begin(root, system, realm)
      const commit = async (branch: string, message: string): Promise<void> => {
        await git(root, 'checkout', '--quiet', '-B', branch)
        await git(root, 'add', '--all')
        await git(root, 'commit', '--quiet', '--message', message)
      }
      const job = async (name: string, branch: string, known: readonly SecretName[]) => {
        const checkout = mkdtempSync(join(folder, 'checkout-'))
        await git(folder, 'clone', '--quiet', '--branch', branch, root, checkout)
        const { stdout: message } = await git(checkout, 'log', '-1', '--format=%s')
        let [code, output] = [0, '']
        const file = join(checkout, fileOf(realm))
        for (const step of stepsOf(file, name, valuesOf(known, message))) {
          if (code !== 0 && !step.always) continue
          const { exitCode = 1, all } = await sh(step, checkout)
          output += `$ ${step.script}\n${all}\n`
          code ||= exitCode
        }
        return { code, output }
      }
      const status = async (path: string): Promise<number> =>
        (await world().admin.send('GET', `/admin/realms/${realm}/${path}`)).status

      await commit('main', 'begin')
      // The first apply is the administrator's: it makes the clients that the pipeline signs in as.
      const apply = (env: Record<string, string>) =>
        world().home.run(['apply', '--auto-approve'], { cwd: estate, env: { ...secrets, ...env } })
      const first = await apply({})
      expect(first.code, first.stderr).toBe(0)

      const roles = join(estate, `realms/${realm}/more.yaml`)
      writeFileSync(roles, `realm: ${realm}\nroles:\n  - name: shipper\n`)
      await commit('change', 'a role for shipping')
      const validated = await job('validate', 'change', [])
      expect(validated.code, validated.output).toBe(0)
      const planned = await job('plan', 'change', ['PULL_REQUESTS_SECRET'])
      expect(planned.code, planned.output).toBe(0)
      expect(commentOf()).toContain('1 to add, 0 to change, 0 to destroy')
      expect(commentOf()).toContain(place)
      for (const secret of Object.values(secrets))
        expect(`${commentOf()}${planned.output}`).not.toContain(secret)
      expect(await status('roles/shipper')).toBe(404)

      // The credential of pull requests cannot apply, also if the branch changes the workflow.
      const forged = await apply({
        IAMCTL_AUTH_REALM: realm,
        IAMCTL_CLIENT_ID: 'pull-requests',
        IAMCTL_CLIENT_SECRET: secrets.PULL_REQUESTS_SECRET,
      })
      expect(forged.code, forged.stderr).toBe(4)

      // A plan that fails is a comment all the same, and the job fails.
      writeFileSync(roles, `realm: ${realm}\nroles:\n  - { name: shipper, composites: [gone] }\n`)
      await commit('wrong', 'a role that is gone')
      const wrong = await job('plan', 'wrong', ['PULL_REQUESTS_SECRET'])
      expect(wrong.code, wrong.output).toBe(3)
      expect(commentOf()).toContain('There is no plan')

      await git(root, 'checkout', '--quiet', 'main')
      await git(root, 'merge', '--quiet', '--ff-only', 'change')
      const applied = await job('apply', 'main', ['PIPELINE_SECRET', 'PULL_REQUESTS_SECRET'])
      expect(applied.code, applied.output).toBe(0)
      expect(applied.output).toContain('Documents: 1 added, 0 changed, 0 destroyed.')
      expect(await status('roles/shipper')).toBe(200)
      const history = await run(`history --realm ${realm} --limit 1`)
      expect(history.stdout).toContain('a role for shipping')

      const calm = await job('drift', 'main', ['PULL_REQUESTS_SECRET'])
      expect(calm.code, calm.output).toBe(0)
      const changed = { name: 'shipper', description: 'By hand.' }
      await world().admin.send('PUT', `/admin/realms/${realm}/roles/shipper`, changed)
      const drifted = await job('drift', 'main', ['PULL_REQUESTS_SECRET'])
      expect(drifted.code, drifted.output).toBe(2)
    },
  )
})
