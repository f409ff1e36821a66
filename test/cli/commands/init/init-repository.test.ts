/** `iamctl init --ci`: the pipeline lies where its system looks, installs what is there, and gives secrets only to the apply. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { load as parseYaml } from 'js-yaml'
import { describe, expect, it, onTestFinished } from 'vitest'
import manifest from '../../../../package.json' with { type: 'json' }
import { newHome } from '../../../support/processes/cli.ts'

const repository = (git: 'folder' | 'file' = 'folder') => {
  const home = newHome()
  onTestFinished(home.remove)
  const root = join(home.folder, 'repository')
  mkdirSync(root)
  if (git === 'folder') mkdirSync(join(root, '.git'))
  // As in a worktree or a submodule.
  else writeFileSync(join(root, '.git'), 'gitdir: ../elsewhere\n')
  const run = (...args: string[]) => home.run(args, { cwd: root })
  // To pack the program takes its time, and is tested by itself.
  const init = (...args: string[]) => run('init', ...args, '--package', 'iamctl')
  return { root, run, init }
}

const yamlOf = (...path: string[]) =>
  // biome-ignore lint/suspicious/noExplicitAny: a pipeline, of which the test knows what it asks for
  parseYaml(readFileSync(join(...path), 'utf8')) as any

const tarball = `.iamctl/iamctl-${manifest.version}.tgz`

describe('a pipeline of GitHub', () => {
  it.each(['folder', 'file'] as const)(
    'for a subfolder lies at the root of the repository and works in the subfolder (.git is a %s)',
    async (git) => {
      const { root, run, init } = repository(git)
      const made = await init('identity/shop', '--ci', 'github', '-o', 'json')
      expect(made.code, made.stderr).toBe(0)
      expect(existsSync(join(root, 'identity/shop/.github'))).toBe(false)
      expect(JSON.parse(made.stdout).files).toContain('../../.github/workflows/iamctl-shop.yml')
      const path = '.github/workflows/iamctl-shop.yml'
      const workflow = yamlOf(root, path)
      expect(workflow.defaults.run['working-directory']).toBe('identity/shop')
      for (const event of ['pull_request', 'push'])
        expect(workflow.on[event].paths).toEqual(['identity/shop/**', path])
      expect(workflow.on.push.branches).toEqual(['main'])
      const valid = await run('validate', 'identity/shop')
      expect(valid.code, valid.stderr).toBe(0)
    },
  )

  it('at the root works there, whatever changes', async () => {
    const { root, init } = repository()
    expect((await init('--ci', 'github', '--realm', 'shop')).code).toBe(0)
    const workflow = yamlOf(root, '.github/workflows/iamctl.yml')
    expect(workflow.defaults).toBeUndefined()
    expect(workflow.on.pull_request).toBeNull()
    expect(workflow.on.push).toEqual({ branches: ['main'] })
  })

  it('gives secrets of the files to the apply alone; every job signs in with a token of the platform', async () => {
    const { root, init } = repository()
    expect((await init('--ci', 'github', '--realm', 'shop', '--template', 'b2b-saas')).code).toBe(0)
    const { jobs } = yamlOf(root, '.github/workflows/iamctl.yml')
    const secretsOf = (job: string) =>
      [...JSON.stringify(jobs[job]).matchAll(/secrets\.(\w+)/g)].map(([, name]) => name)
    expect(secretsOf('validate')).toEqual([])
    expect(secretsOf('plan')).toEqual([])
    expect(secretsOf('drift')).toEqual([])
    expect(secretsOf('apply')).toContain('WEB_SECRET')
    for (const job of ['plan', 'apply', 'drift'])
      expect(jobs[job].permissions).toMatchObject({ 'id-token': 'write' })
    expect(jobs.validate.permissions).toBeUndefined()
  })

  it('trusts the jobs of the repository that the remote names', async () => {
    const { root, init } = repository()
    await execa('git', ['init', '--quiet'], { cwd: root })
    await execa('git', ['remote', 'add', 'origin', 'git@github.com:acme/identity.git'], {
      cwd: root,
    })
    expect((await init('--ci', 'github', '--realm', 'shop')).code).toBe(0)
    const { workloadIdentities } = yamlOf(root, 'realms/shop/pipeline.yaml')
    expect(workloadIdentities.map(({ subject }: { subject: string }) => subject)).toEqual([
      'repo:acme@OWNER_ID/identity@REPOSITORY_ID:environment:production',
      'repo:acme@OWNER_ID/identity@REPOSITORY_ID:pull_request',
      'repo:acme@OWNER_ID/identity@REPOSITORY_ID:ref:refs/heads/main',
    ])
  })
})

describe('a pipeline of GitLab', () => {
  it('for a subfolder lies at the root of the repository and works in the subfolder', async () => {
    const { root, init } = repository()
    expect((await init('identity/shop', '--ci', 'gitlab')).code).toBe(0)
    expect(existsSync(join(root, 'identity/shop/.gitlab-ci.yml'))).toBe(false)
    const pipeline = yamlOf(root, '.gitlab-ci.yml')
    expect(pipeline.before_script[0]).toBe('cd identity/shop')
    expect(pipeline.plan.after_script[0]).toBe('cd identity/shop')
    expect(pipeline.plan.artifacts.paths).toEqual(['identity/shop/plan.md'])
    expect(pipeline.validate.artifacts.reports.junit).toBe('identity/shop/validate.xml')
    for (const job of ['validate', 'plan', 'apply'])
      expect(pipeline[job].rules[0].changes).toEqual(['identity/shop/**/*'])
  })

  it('is not written over another one, and then nothing is', async () => {
    const { root, init } = repository()
    writeFileSync(join(root, '.gitlab-ci.yml'), 'mine: {}\n')
    const { code, stderr } = await init('identity/shop', '--ci', 'gitlab')
    expect(code).toBe(1)
    expect(stderr).toContain('.gitlab-ci.yml exists')
    expect(readdirSync(root).sort()).toEqual(['.git', '.gitlab-ci.yml'])
  })
})

describe('what a pipeline installs', () => {
  it('lies in the estate, and is this program', async () => {
    const { root, run } = repository()
    const made = await run('init', 'identity/shop', '--ci', 'gitlab')
    expect(made.code, made.stderr).toBe(0)
    expect(yamlOf(root, '.gitlab-ci.yml').variables.IAMCTL_PACKAGE).toBe(`./${tarball}`)
    const packed = join(root, 'identity/shop', tarball)
    // The size that the help states, also if earlier builds left files behind.
    const [, stated] =
      /into \.iamctl\/ \((\d+) MB\)/.exec((await run('init', '--help')).stdout) ?? []
    expect(Math.abs(Number(stated) - statSync(packed).size / 1_000_000)).toBeLessThan(1)
    await execa('tar', ['-xzf', packed], { cwd: dirname(packed) })
    const program = join(dirname(packed), 'package/dist/cli.js')
    const { stdout } = await execa(process.execPath, [program, 'validate'], {
      cwd: join(root, 'identity/shop'),
    })
    expect(stdout).toContain('Valid: shop')
  })

  it('is what --package names, and then nothing is packed', async () => {
    const { root, run } = repository()
    const spec = 'git+https://git.example/iam/iamctl.git#v0.1.0'
    expect((await run('init', 'shop', '--ci', 'github', '--package', spec)).code).toBe(0)
    expect(yamlOf(root, '.github/workflows/iamctl-shop.yml').env.IAMCTL_PACKAGE).toBe(spec)
    expect(existsSync(join(root, 'shop', tarball))).toBe(false)
    const wrong = await run('init', 'other', '--ci', 'github', '--package=-g')
    expect(wrong.code).toBe(1)
  })
})
