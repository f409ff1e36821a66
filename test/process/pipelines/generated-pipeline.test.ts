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
import manifest from '../../../package.json' with { type: 'json' }
import { newEstate, newRealm } from '../../cli/commands/fixture/estate.ts'
import { startWorld } from '../../cli/commands/fixture/fixture.ts'
import { generatedJobs, openRunner, trusting } from '../../cli/commands/workload/runner.ts'
import { bundle } from '../../support/processes/cli.ts'
import { type Registry, startRegistry } from '../../support/processes/programs/registry.ts'
import { githubSteps, gitlabSteps, type Step, type Values } from './pipeline-steps.ts'

const platform = await openRunner()
const world = startWorld(platform.serverEnv)
afterAll(() => platform.close())

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

  const sh = (step: Step, checkout: string, machine: Readonly<Record<string, string>>) =>
    execa('bash', ['-e', '-c', scriptOf(step)], {
      cwd: join(checkout, step.folder),
      env: { ...runner(), ...machine, ...step.env },
      extendEnv: false,
      reject: false,
      all: true,
      stdin: 'ignore',
    })

  const systems = {
    github: {
      fileOf: (realm: string) => `.github/workflows/iamctl-${realm}.yml`,
      stepsOf: githubSteps,
      valuesOf: (message: string): Values => ({
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
      valuesOf: (message: string): Values => ({
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
    const pipeline = join(estate, `realms/${realm}/pipeline.yaml`)
    writeFileSync(pipeline, trusting(platform, readFileSync(pipeline, 'utf8')))
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
      const job = async (name: string, branch: string) => {
        const jobs = await generatedJobs(platform, system, `${world().server.url}/realms/${realm}`)
        const own: Readonly<Record<string, string>> =
          name === 'validate' ? {} : jobs[name as keyof typeof jobs]
        const machine = { ...own, XDG_CONFIG_HOME: mkdtempSync(join(folder, 'machine-')) }
        const checkout = mkdtempSync(join(folder, 'checkout-'))
        await git(folder, 'clone', '--quiet', '--branch', branch, root, checkout)
        const { stdout: message } = await git(checkout, 'log', '-1', '--format=%s')
        let [code, output] = [0, '']
        const file = join(checkout, fileOf(realm))
        for (const step of stepsOf(file, name, valuesOf(message))) {
          if (code !== 0 && !step.always) continue
          const { exitCode = 1, all } = await sh(step, checkout, machine)
          output += `$ ${step.script}\n${all}\n`
          code ||= exitCode
        }
        return { code, output }
      }
      const status = async (path: string): Promise<number> =>
        (await world().admin.send('GET', `/admin/realms/${realm}/${path}`)).status

      await commit('main', 'begin')
      // The first apply is the administrator's: it makes the clients that the pipeline signs in as.
      const first = await world().home.run(['apply', '--auto-approve'], { cwd: estate })
      expect(first.code, first.stderr).toBe(0)

      const roles = join(estate, `realms/${realm}/more.yaml`)
      writeFileSync(roles, `realm: ${realm}\nroles:\n  - name: shipper\n`)
      await commit('change', 'a role for shipping')
      const validated = await job('validate', 'change')
      expect(validated.code, validated.output).toBe(0)
      const planned = await job('plan', 'change')
      expect(planned.code, planned.output).toBe(0)
      expect(commentOf()).toContain('1 to add, 0 to change, 0 to destroy')
      expect(commentOf()).toContain(place)
      // No token of any kind is in the comment or the log.
      expect(`${commentOf()}${planned.output}`).not.toMatch(/eyJ|job-\d/)
      expect(await status('roles/shipper')).toBe(404)

      // The credential of pull requests cannot apply, also if the branch changes the workflow.
      const workflow = join(estate, '..', '..', fileOf(realm))
      const honest = readFileSync(workflow, 'utf8')
      writeFileSync(
        workflow,
        honest.replaceAll('iamctl plan --output markdown', 'iamctl apply --auto-approve'),
      )
      await commit('forged', 'apply from a pull request')
      const forged = await job('plan', 'forged')
      expect(forged.code, forged.output).toBe(4)
      expect(await status('roles/shipper')).toBe(404)
      writeFileSync(workflow, honest)

      // A plan that fails is a comment all the same, and the job fails.
      writeFileSync(roles, `realm: ${realm}\nroles:\n  - { name: shipper, composites: [gone] }\n`)
      await commit('wrong', 'a role that is gone')
      const wrong = await job('plan', 'wrong')
      expect(wrong.code, wrong.output).toBe(3)
      expect(commentOf()).toContain('There is no plan')

      await git(root, 'checkout', '--quiet', 'main')
      await git(root, 'merge', '--quiet', '--ff-only', 'change')
      const applied = await job('apply', 'main')
      expect(applied.code, applied.output).toBe(0)
      expect(applied.output).toContain('Documents: 1 added, 0 changed, 0 destroyed.')
      expect(await status('roles/shipper')).toBe(200)
      const history = await run(`history --realm ${realm} --limit 1`)
      expect(history.stdout).toContain('a role for shipping')

      const calm = await job('drift', 'main')
      expect(calm.code, calm.output).toBe(0)
      const changed = { name: 'shipper', description: 'By hand.' }
      await world().admin.send('PUT', `/admin/realms/${realm}/roles/shipper`, changed)
      const drifted = await job('drift', 'main')
      expect(drifted.code, drifted.output).toBe(2)
    },
  )
})
