/** Folders that cannot be made: a command that writes files ends at once, and names the folder and the reason. */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newHome } from '../../support/processes/cli.ts'
import { newEstate, newRealm } from './fixture/estate.ts'
import { sharedWorld } from './fixture/fixture.ts'

const world = sharedWorld()

const home = () => {
  const made = newHome()
  onTestFinished(made.remove)
  return made
}

/** Folders that no user can make, and the reason. */
const refused = (folder: string): readonly (readonly [string, string])[] => {
  writeFileSync(join(folder, 'file'), '')
  symlinkSync('other', join(folder, 'one'))
  symlinkSync('one', join(folder, 'other'))
  symlinkSync('nothing', join(folder, 'dangling'))
  mkdirSync(join(folder, 'there'))
  return [
    [join(folder, 'file'), 'a file has this name'],
    [join(folder, 'file', 'below'), `${join(folder, 'file')}: a file has this name`],
    [join(folder, 'one'), 'its symbolic links lead in a circle'],
    [join(folder, 'one', 'below'), 'its symbolic links lead in a circle'],
    [join(folder, 'dangling', 'below'), `${join(folder, 'dangling')}: a file has this name`],
    [join(folder, 'there', 'a'.repeat(300)), 'the name is too long'],
    // A folder that exists and takes none: `mkdir -p` of Node.js never ends there.
    ...(existsSync('/proc/self')
      ? ([
          ['/proc/no-such', 'the file system takes no folder there'],
          ['/proc/no-such/below', '/proc/no-such: the file system takes no folder there'],
        ] as const)
      : []),
  ]
}

/** One that the system refuses, and one that Node.js never ends with. */
const few = (folder: string) =>
  refused(folder).filter(([path]) => path === join(folder, 'file') || path === '/proc/no-such')

describe('a folder that cannot be made', () => {
  it('ends an export', async () => {
    const realm = newRealm()
    const { run, folder } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nroles: [{ name: reader }]\n`,
    })
    await run('apply realm.yaml --auto-approve')
    for (const [out, reason] of refused(folder)) {
      const { code, stderr } = await run(`export --realm ${realm} --split --out ${out}`)
      expect(code, stderr).toBe(1)
      expect(stderr).toContain(`iamctl: cannot create the folder ${out}: `)
      expect(stderr).toContain(reason)
    }
  })

  it('ends init', async () => {
    const { run, folder } = home()
    for (const [out, reason] of few(folder)) {
      const { code, stderr } = await run(['init', out])
      expect(code, stderr).toBe(1)
      expect(stderr).toContain(`iamctl: cannot create the folder ${out}: `)
      expect(stderr).toContain(reason)
    }
  })

  it('ends a command that writes the configuration of its user', async () => {
    const { run, folder } = home()
    for (const [path] of few(folder)) {
      const { code, stderr } = await run(
        ['context', 'set', 'a', '--server', 'http://127.0.0.1:1'],
        {
          env: { XDG_CONFIG_HOME: path },
        },
      )
      expect(code, stderr).toBe(1)
      expect(stderr).toContain(join(path, 'iamctl'))
    }
  })

  it('ends the start of a server', async () => {
    const { run, folder } = home()
    for (const [path] of few(folder)) {
      const { code, stderr } = await run(['server', '--data', path])
      expect(code, stderr).toBe(1)
      expect(stderr).toContain(`iamctl: cannot create the database ${join(path, 'iamctl.db')}: `)
    }
  })
})
