/** Which files are formatted, and how they are written. */
import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FmtOptions, formatFiles } from '#cli/fmt/run.ts'
import { replaceText } from '#cli/fmt/save.ts'
import { findEstate } from '#cli/load/estate.ts'
import { createFolder, type Folder } from '../load/folder.ts'

const untidy = 'settings: {displayName: "x"}\nrealm: a\n'
const tidy = 'realm: a\nsettings: { displayName: x }\n'

const run = async (folder: Folder, options: Partial<FmtOptions> = {}) => {
  const cwd = folder.path
  const found = await findEstate({ cwd })
  return formatFiles({ paths: [], cwd, found, check: false, ...options })
}

const read = (folder: Folder, name: string): string => readFileSync(join(folder.path, name), 'utf8')

describe('fmt', () => {
  it('formats the realms of the estate, and its overlays, and nothing else', async () => {
    using folder = createFolder({
      'iamctl.yaml': 'paths: [estate]\nsource: "x"\n',
      'estate/a.yaml': untidy,
      'estate/deep/b.yml': untidy,
      'estate/c.json': '{"realm":  "c"}',
      'estate/tidy.yaml': tidy,
      'overlays/prod/a.yaml': untidy,
      'elsewhere/a.yaml': untidy,
    })
    const { changed, unchanged, left, diagnostics } = await run(folder)
    expect(changed).toEqual(['estate/a.yaml', 'estate/deep/b.yml', 'overlays/prod/a.yaml'])
    expect({ unchanged, left, diagnostics }).toEqual({
      unchanged: ['estate/tidy.yaml'],
      left: [],
      diagnostics: [],
    })
    for (const name of changed) expect(read(folder, name)).toBe(tidy)
    expect(read(folder, 'estate/c.json')).toBe('{"realm":  "c"}')
    expect(read(folder, 'elsewhere/a.yaml')).toBe(untidy)
    expect(read(folder, 'iamctl.yaml')).toContain('"x"')
    expect((await run(folder)).changed).toEqual([])
  })

  it('formats what is named, and the overlays of a folder that is an estate', async () => {
    using folder = createFolder({
      'shop/iamctl.yaml': '',
      'shop/realms/a.yaml': untidy,
      'shop/overlays/prod/a.yaml': untidy,
    })
    const { changed } = await run(folder, { paths: ['shop'] })
    expect(changed).toEqual(['shop/realms/a.yaml', 'shop/overlays/prod/a.yaml'])
  })

  it('changes nothing when it only checks', async () => {
    using folder = createFolder({ 'realms/a.yaml': untidy, 'realms/b.yaml': tidy })
    const { changed, unchanged } = await run(folder, { check: true })
    expect({ changed, unchanged }).toEqual({
      changed: ['realms/a.yaml'],
      unchanged: ['realms/b.yaml'],
    })
    expect(read(folder, 'realms/a.yaml')).toBe(untidy)
  })

  it('tells about files that cannot be read, and formats the others', async () => {
    using folder = createFolder({
      'realms/a.yaml': untidy,
      'realms/b.yaml': 'realm: [\n',
      'realms/c.yaml': 'a: 1\na: 2\n',
    })
    const outcome = await run(folder)
    expect(outcome.changed).toEqual(['realms/a.yaml'])
    expect(outcome.diagnostics.map(({ code, place }) => `${place?.file} ${code}`)).toEqual([
      'realms/b.yaml yaml-syntax',
      'realms/c.yaml yaml-duplicate-key',
    ])
    expect(outcome.textOf('realms/b.yaml')).toBe('realm: [\n')
    expect(read(folder, 'realms/b.yaml')).toBe('realm: [\n')
  })

  it('keeps the mode of a file, and leaves nothing beside it', async () => {
    using folder = createFolder({ 'realms/a.yaml': untidy })
    const file = join(folder.path, 'realms/a.yaml')
    chmodSync(file, 0o640)
    await run(folder)
    expect(statSync(file).mode & 0o777).toBe(0o640)
    expect(readdirSync(join(folder.path, 'realms'))).toEqual(['a.yaml'])
  })

  it('keeps a link, and formats what it leads to', async () => {
    using folder = createFolder({ 'shared/a.yaml': untidy, 'realms/b.yaml': tidy })
    const link = join(folder.path, 'realms/link.yaml')
    symlinkSync('../shared/a.yaml', link)
    expect((await run(folder)).changed).toEqual(['realms/link.yaml'])
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(read(folder, 'shared/a.yaml')).toBe(tidy)
  })

  it('answers what it reads on standard input', async () => {
    using folder = createFolder({})
    const stdin = async function* () {
      yield await Promise.resolve(untidy)
    }
    const outcome = await run(folder, { paths: ['-'], stdin: stdin() })
    expect(outcome.text).toBe(tidy)
    const checked = await run(folder, { paths: ['-'], stdin: stdin(), check: true })
    expect(checked).toMatchObject({ text: null, changed: ['<stdin>'] })
  })

  it('leaves the old text when the new one cannot be written', async () => {
    using folder = createFolder({ 'a.yaml': untidy })
    const file = join(folder.path, 'a.yaml')
    const tooMuch = { toString: () => 'x' } as unknown as string
    await expect(replaceText(file, tooMuch)).rejects.toThrow()
    expect(read(folder, 'a.yaml')).toBe(untidy)
    expect(readdirSync(folder.path)).toEqual(['a.yaml'])
  })
})
