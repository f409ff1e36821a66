/** `iamctl init`: every template is a realm that works, and every pipeline is one that runs. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { execa } from 'execa'
import { load as parseYaml } from 'js-yaml'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { pipelineNames, templateNames } from '#cli/commands/estate/init.ts'
import { createProgram } from '#cli/program.ts'
import { bundle, newHome } from '../../../support/processes/cli.ts'
import { newRealm } from '../fixture/estate.ts'
import { adminHome, freshHome, startWorld } from '../fixture/fixture.ts'
import { generatedJobs, openRunner, trusting } from '../workload/runner.ts'

const runner = await openRunner()
const world = startWorld(runner.serverEnv)
afterAll(() => runner.close())

const secret = (name: string): string => `secret-of-${name.toLowerCase()}-0123456789-0123456789`

describe('a template', () => {
  it.each(templateNames.map((template, index) => [template, pipelineNames[index % 2] ?? 'github']))(
    '%s with a pipeline of %s validates, applies, plans to nothing, and its pipeline does too',
    async (template, ci) => {
      const home = adminHome(world())
      const realm = newRealm()
      const made = await home.run([
        'init',
        'estate',
        ...[
          '--template',
          template,
          '--ci',
          ci,
          '--package',
          'iamctl',
          '--realm',
          realm,
          '-o',
          'json',
        ],
      ])
      expect(made).toMatchObject({ code: 0, stderr: '' })
      const { secrets, files } = JSON.parse(made.stdout)
      expect(files).toContain(`realms/${realm}/pipeline.yaml`)
      const cwd = join(home.folder, 'estate')
      const values = Object.fromEntries(secrets.map((name: string) => [name, secret(name)]))
      const env = { ...values, IAMCTL_REALM: '' }
      const run = (...args: string[]) => home.run(args, { cwd, env })

      const pipeline = join(cwd, `realms/${realm}/pipeline.yaml`)
      writeFileSync(pipeline, trusting(runner, readFileSync(pipeline, 'utf8')))

      expect(await run('fmt', '--check')).toMatchObject({ code: 0 })
      const valid = await run('validate', '--warnings-as-errors')
      expect(valid).toMatchObject({ code: 0, stdout: expect.stringContaining(`Valid: ${realm}`) })
      expect(await run('apply', '--auto-approve')).toMatchObject({ code: 0 })
      expect(await run('plan', '--detailed-exitcode')).toMatchObject({
        code: 0,
        stdout: 'No changes. The realm matches the files.\n',
      })

      const jobs = await generatedJobs(runner, ci, `${world().server.url}/realms/${realm}`)
      // Each job is a new machine.
      const machine = async (name: keyof typeof jobs) => {
        const own = freshHome(world(), { IAMCTL_AUTH_REALM: realm, ...jobs[name] })
        expect(await own.run(['login', '--workload'])).toMatchObject({ code: 0 })
        return (args: string[], more: Readonly<Record<string, string>> = {}) =>
          own.run(args, { cwd, env: more })
      }
      // The job of a pull request has no secret of the files.
      const reviewer = await machine('plan')
      const deployer = await machine('apply')
      const change = join(cwd, `realms/${realm}/more.yaml`)
      writeFileSync(change, `realm: ${realm}\nroles:\n  - { name: one-more }\n`)
      const planned = await reviewer(['plan', '--output', 'markdown'])
      expect(planned).toMatchObject({ code: 0, stdout: expect.stringContaining('one-more') })
      expect((await reviewer(['apply', '--auto-approve'], values)).code).toBe(4)
      const applied = await deployer(['apply', '--auto-approve', '--message', 'Merge'], values)
      expect(applied).toMatchObject({ code: 0, stdout: expect.stringContaining('1 added') })
      const drift = await machine('drift')
      expect(await drift(['drift', '--output', 'markdown'])).toMatchObject({ code: 0 })
    },
  )
})

describe('a pipeline', () => {
  const program = createProgram()

  /** The option that a word stands for, of the command it is given to. */
  const unknownFlags = (words: readonly string[]): string[] => {
    let command: Command = program
    let rest = [...words]
    for (;;) {
      const next = command.commands.find((one) => one.name() === rest[0])
      if (next === undefined) break
      command = next
      rest = rest.slice(1)
    }
    if (command === program) return [words[0] ?? '']
    const known = new Set(command.options.flatMap(({ long, short }) => [long, short]))
    return rest.filter((word) => word.startsWith('-') && !known.has(word.split('=')[0]))
  }

  /** Every text that a system hands to a shell. */
  const scripts = (value: unknown): string[] => {
    if (Array.isArray(value)) return value.flatMap(scripts)
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value).flatMap(([name, inner]) =>
      /^(run|script|before_script|after_script)$/.test(name)
        ? [inner].flat().map(String)
        : scripts(inner),
    )
  }

  it.each([
    ['github', '.github/workflows/iamctl.yml'],
    ['gitlab', '.gitlab-ci.yml'],
  ])('of %s is YAML, without a blank left, and calls iamctl with what it has', async (ci, path) => {
    const home = newHome()
    onTestFinished(home.remove)
    const args = ['init', 'shop', '--template', 'b2b-saas', '--ci', ci, '--package', 'iamctl@1.2.3']
    expect((await home.run(args)).code).toBe(0)
    const text = readFileSync(join(home.folder, 'shop', path), 'utf8')
    expect(text).not.toMatch(/__[A-Z]+__/)
    expect(text).toContain('IAMCTL_PACKAGE: "iamctl@1.2.3"')
    expect(text).toContain('WEB_SECRET')
    expect(text).toContain('iamctl login --workload')
    expect(text).not.toMatch(/IAMCTL_(CLIENT_SECRET|TOKEN|PASSWORD)/)
    const lines = scripts(parseYaml(text)).flatMap((script) => script.split('\n'))
    const calls = lines.filter((line) => line.startsWith('iamctl '))
    const words = calls.map((line) =>
      line
        .replace(/ >>? .*$/, '')
        .split(' ')
        .slice(1),
    )
    expect(words.map(([command]) => command)).toEqual(
      expect.arrayContaining(['fmt', 'validate', 'plan', 'apply', 'drift']),
    )
    expect(words.flatMap(unknownFlags)).toEqual([])
  })
})

describe('init', () => {
  const home = () => {
    const made = newHome()
    onTestFinished(made.remove)
    return made
  }

  it('names the files, the secrets and the way on, and leaves nothing blank', async () => {
    const { run, folder } = home()
    const { code, stdout, stderr } = await run(['init', 'shop', '--template', 'workforce'])
    expect(code).toBe(0)
    for (const path of stdout.trim().split('\n')) {
      expect(statSync(join(folder, 'shop', path)).isFile()).toBe(true)
      expect(readFileSync(join(folder, 'shop', path), 'utf8')).not.toMatch(/__[A-Z]+__/)
    }
    expect(stdout).toContain('realms/shop/realm.yaml')
    expect(stdout).not.toContain('pipeline.yaml')
    expect(stderr).toContain('cd shop')
    expect(stderr).toContain('INTRANET_SECRET')
    const schema = readFileSync(join(folder, 'shop/.iamctl/realm.schema.json'), 'utf8')
    expect(JSON.parse(schema).title).toBe('A realm of iamctl')
  })

  it('names the folder as one word of the shell', async () => {
    const { run } = home()
    const { stderr } = await run(['init', "Bob's shop", '--realm', 'shop'])
    expect(stderr).toContain("  cd 'Bob'\\''s shop'\n")
  })

  it('leaves no file where one cannot be written', async () => {
    const { folder, env } = home()
    // A limit takes the place of a full disk: the schema for editors does not fit.
    const command = ['-c', 'ulimit -f 64; exec "$@"', 'bash', process.execPath, bundle]
    const { exitCode, stderr } = await execa('bash', [...command, 'init', 'shop'], {
      cwd: folder,
      env,
      extendEnv: false,
      reject: false,
    })
    expect(exitCode, stderr).toBe(1)
    expect(stderr).toMatch(/^iamctl: \S+realm\.schema\.json cannot be written: EFBIG/)
    const left = readdirSync(join(folder, 'shop'), { recursive: true, withFileTypes: true })
    expect(left.filter((entry) => entry.isFile())).toEqual([])
  })

  it('overwrites nothing, and then writes nothing', async () => {
    const { run, folder } = home()
    writeFileSync(join(folder, 'iamctl.yaml'), 'mine')
    const { code, stderr } = await run(['init', '--realm', 'shop'])
    expect(code).toBe(1)
    expect(stderr).toContain('iamctl.yaml exists')
    expect(readFileSync(join(folder, 'iamctl.yaml'), 'utf8')).toBe('mine')
    expect(readdirSync(folder).filter((name) => name !== '.config')).toEqual(['iamctl.yaml'])
  })

  it('keeps the README.md and the .gitignore of a new repository, and says what Git should ignore', async () => {
    const { run, folder } = home()
    writeFileSync(join(folder, 'README.md'), 'mine')
    writeFileSync(join(folder, '.gitignore'), 'node_modules/\n.env\n')
    const { code, stdout, stderr } = await run(['init', '--realm', 'shop'])
    expect(code, stderr).toBe(0)
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('mine')
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('node_modules/\n.env\n')
    expect(stdout.split('\n')).not.toContain('README.md')
    expect(stderr).toContain('Kept as found: README.md, .gitignore.')
    expect(stderr).toContain('Add to .gitignore: .iamctl-dev/ *.plan secrets/ *secrets.json\n')
    expect((await run(['validate'])).code).toBe(0)
  })

  it.each([
    [['init', 'Nicht gut'], '--realm'],
    [['init', 'x', '--realm', 'Shop!'], 'letters, digits'],
    [['init', 'x', '--template', 'b2b'], 'b2b-saas'],
    [['init', 'x', '--server', 'id.example'], 'https://'],
  ])('%j is refused with what to do', async (args, remedy) => {
    const { run, folder } = home()
    const { code, stderr } = await run(args)
    expect(code).toBe(1)
    expect(stderr).toContain(remedy)
    expect(existsSync(join(folder, 'x'))).toBe(false)
  })
})
