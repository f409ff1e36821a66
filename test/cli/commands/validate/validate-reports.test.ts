/** `iamctl validate` for machines that show findings: SARIF for code scanning, JUnit XML for test results. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { codes } from '#cli/validate/codes.ts'
import manifest from '../../../../package.json' with { type: 'json' }
import { type Home, newHome } from '../../../support/processes/cli.ts'

const folderWith = (files: Readonly<Record<string, string>>): Home => {
  const home = newHome()
  onTestFinished(home.remove)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home.folder, name)), { recursive: true })
    writeFileSync(join(home.folder, name), text)
  }
  return home
}

const files = {
  'iam/realms/a <b> & c.yaml':
    'realm: acme\nsettings:\n  bruteForceProtected: false\nroles:\n  - name: support\ngroups:\n  - name: "Staff & <Co>"\n    roles: [suport]\n',
  'iam/realms/b.yaml': 'realm: bolt\nsettings:\n  displayName: Bolt\n',
}

const validate = (output: string, env: Readonly<Record<string, string>>, ...more: string[]) => {
  const home = folderWith(files)
  return home.run(['validate', '--output', output, ...more], {
    cwd: join(home.folder, 'iam'),
    env: Object.fromEntries(Object.keys(env).map((name) => [name, home.folder])),
  })
}

describe('validate --output sarif', () => {
  it('is one run of SARIF 2.1.0 with every rule, and results at their places', async () => {
    const { code, stdout, stderr } = await validate('sarif', { GITHUB_WORKSPACE: '' })
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    const log = JSON.parse(stdout)
    expect(log).toMatchObject({ version: '2.1.0', runs: [{ columnKind: 'utf16CodeUnits' }] })
    const [{ tool, results }] = log.runs
    expect(tool.driver).toMatchObject({ name: 'iamctl', semanticVersion: manifest.version })
    const ids = tool.driver.rules.map(({ id }: { id: string }) => id)
    expect(ids).toEqual(codes.map((one) => one.code))
    expect(new Set(ids).size).toBe(ids.length)
    for (const { ruleId, ruleIndex } of results) expect(ids[ruleIndex]).toBe(ruleId)
    expect(results).toMatchObject([
      { ruleId: 'no-brute-force-protection', level: 'warning' },
      {
        ruleId: 'missing-reference',
        level: 'error',
        message: { text: expect.stringContaining('did you mean "support"?') },
        locations: [
          {
            physicalLocation: {
              artifactLocation: {
                uri: 'iam/realms/a%20%3Cb%3E%20%26%20c.yaml',
                uriBaseId: '%SRCROOT%',
              },
              region: { startLine: 8, startColumn: 13, endLine: 8, endColumn: 19 },
            },
          },
        ],
      },
    ])
  })

  it('has a rule also for what is wrong with the estate itself, and no results where all is well', async () => {
    const home = folderWith({ 'iamctl.yaml': 'sourse: x\n', 'realms/b.yaml': 'realm: bolt\n' })
    const wrong = JSON.parse((await home.run(['validate', '-o', 'sarif'])).stdout)
    const [{ ruleId, ruleIndex }] = wrong.runs[0].results
    expect(wrong.runs[0].tool.driver.rules[ruleIndex].id).toBe(ruleId)
    writeFileSync(join(home.folder, 'iamctl.yaml'), 'source: x\n')
    const { code, stdout } = await home.run(['validate', '-o', 'sarif'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).runs[0].results).toEqual([])
  })
})

describe('validate --output junit', () => {
  it('is a suite per file, with errors as failures and warnings told', async () => {
    const { code, stdout, stderr } = await validate('junit', { CI_PROJECT_DIR: '' })
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(stdout).toBe(
      `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="iamctl validate" tests="3" failures="1">
  <testsuite name="iam/realms/a &lt;b&gt; &amp; c.yaml" tests="2" failures="1">
    <testcase classname="iam/realms/a &lt;b&gt; &amp; c.yaml" name="no-brute-force-protection: settings, bruteForceProtected: passwords can be guessed as often as one likes" file="iam/realms/a &lt;b&gt; &amp; c.yaml" line="3">
      <system-out>warning: realms/a &lt;b&gt; &amp; c.yaml:3:24: settings, bruteForceProtected: passwords can be guessed as often as one likes
Hint: leave it out: guessing is slowed down</system-out>
    </testcase>
    <testcase classname="iam/realms/a &lt;b&gt; &amp; c.yaml" name="missing-reference: group &quot;/Staff &amp; &lt;Co&gt;&quot;, roles[0]: there is no role &quot;suport&quot;" file="iam/realms/a &lt;b&gt; &amp; c.yaml" line="8">
      <failure type="error" message="group &quot;/Staff &amp; &lt;Co&gt;&quot;, roles[0]: there is no role &quot;suport&quot;">realms/a &lt;b&gt; &amp; c.yaml:8:13: group &quot;/Staff &amp; &lt;Co&gt;&quot;, roles[0]: there is no role &quot;suport&quot;
Hint: did you mean &quot;support&quot;?</failure>
    </testcase>
  </testsuite>
  <testsuite name="iam/realms/b.yaml" tests="1" failures="0">
    <testcase classname="iam/realms/b.yaml" name="valid" file="iam/realms/b.yaml"/>
  </testsuite>
</testsuites>
`,
    )
  })

  it('counts warnings as failures where they end the command, and control characters cannot break it', async () => {
    const strict = await validate('junit', { CI_PROJECT_DIR: '' }, '--warnings-as-errors')
    expect(strict.stdout).toContain('<testsuites name="iamctl validate" tests="3" failures="2">')
    const home = folderWith({
      'realms/a.yaml': 'realm: acme\nroles: [{ name: a, "b\\x01]]>": 1 }]\n',
    })
    const { stdout } = await home.run(['validate', '-o', 'junit'])
    expect(stdout).toContain('\\u0001]]&gt;')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
    expect(stdout).not.toMatch(/[\u0000-\u0008]/)
  })
})
