/** `npx iamctl` in a checkout builds only where something changed, and keeps the files that a running server still needs. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { execa } from 'execa'
import { expect, it, onTestFinished } from 'vitest'

const root = resolve(import.meta.dirname, '../../..')

it('keeps every file of the build before in place, and does nothing where nothing changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-build-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  // A checkout of its own, by links: the bundle of the other tests stays as it is.
  for (const name of ['cli', 'server', 'schemas', 'templates', 'package.json', 'node_modules'])
    symlinkSync(join(root, name), join(folder, name))
  const build = (epoch: string) =>
    execa(process.execPath, [join(root, 'build.ts')], {
      cwd: folder,
      env: { SOURCE_DATE_EPOCH: epoch },
    })
  await build('1')
  const dist = join(folder, 'dist')
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  const modified = () => statSync(join(dist, 'cli.js')).mtimeMs
  const before = modified()

  await build('1')
  expect(modified()).toBe(before)

  const missing = new Set<string>()
  let isBuilding = true
  const watch = async (): Promise<void> => {
    while (isBuilding) {
      for (const name of files) if (!existsSync(join(dist, name))) missing.add(name)
      await new Promise((go) => setImmediate(go))
    }
  }
  const watching = watch()
  const began = Date.now()
  await build('2')
  isBuilding = false
  await watching
  expect([...missing]).toEqual([])
  expect(modified()).not.toBe(before)
  for (const name of files) expect(existsSync(join(dist, name)), name).toBe(true)
  const { stdout } = await execa(process.execPath, [join(dist, 'cli.js'), '--version'])
  expect(stdout).toMatch(/^\d+\.\d+\.\d+/)
  expect(readdirSync(folder).filter((name) => name.startsWith('dist'))).toEqual(['dist'])

  // The chunks that stay are in no package, also where npm runs no script.
  const { stdout: list } = await execa('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: folder,
  })
  const [{ files: packed }] = JSON.parse(list) as [{ files: { path: string }[] }]
  const inPackage = packed.map(({ path }) => path).filter((path) => path.startsWith('dist/chunks/'))
  const chunks = readdirSync(join(dist, 'chunks')).map((name) => `dist/chunks/${name}`)
  const ofSecond = chunks.filter((path) => statSync(join(folder, path)).mtimeMs >= began)
  expect(ofSecond.length).toBeLessThan(chunks.length)
  expect(inPackage.sort()).toEqual(ofSecond.sort())
})
