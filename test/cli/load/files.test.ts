/** Paths -> files: folders, links, standard input, hostile names, and unreadable files. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hasErrors } from '#cli/diagnostics.ts'
import { brief, createFolder } from './folder.ts'

const realm = (name: string): string => `realm: ${name}\n`

const chunks = async function* (...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text))
}

describe('a folder', () => {
  it('is read with its folders, sorted by name, and only what holds realms', async () => {
    using folder = createFolder({
      'iamctl.yaml': 'source: shop\n',
      'realms/b.yaml': realm('b'),
      'realms/a.yml': realm('a'),
      'realms/c.json': '{ "realm": "c" }',
      'realms/deep/er/d.yaml': realm('d'),
      'realms/iamctl.yaml': 'source: other\n',
      'realms/realm.schema.json': '{}',
      'realms/README.md': 'realm: x',
      'realms/x.yaml.bak': realm('x'),
      'realms/.hidden/e.yaml': realm('e'),
      'realms/.swp.yaml': realm('e'),
      'realms/node_modules/f.yaml': realm('f'),
      'realms/overlays/prod/a.yaml': 'realm: a\nsettings: { displayName: A }\n',
      'realms/empty.yaml': '# nothing yet\n',
    })
    const { realms, diagnostics } = await folder.load()
    expect(diagnostics).toEqual([])
    expect(realms.map(({ realm: name, files }) => [name, files])).toEqual([
      ['a', ['realms/a.yml']],
      ['b', ['realms/b.yaml']],
      ['c', ['realms/c.json']],
      ['d', ['realms/deep/er/d.yaml']],
    ])
  })

  it('does not include the overlays and files of variables that are named', async () => {
    using folder = createFolder({
      'realms/a.yaml': realm('a'),
      'realms/prod/a.yaml': 'realm: a\nsettings: { displayName: A }\n',
      'realms/over.yaml': 'realm: a\nsettings: { displayName: B }\n',
      'realms/vars.yaml': 'X: 1\n',
    })
    const { realms, diagnostics } = await folder.load({
      paths: ['realms'],
      overlays: ['realms/prod', 'realms/over.yaml'],
      varFiles: ['realms/vars.yaml'],
    })
    expect(diagnostics).toEqual([])
    expect(realms.map(({ value }) => value)).toEqual([
      { realm: 'a', settings: { displayName: 'B' } },
    ])
  })

  it('that is named beside a file of it gives the file once', async () => {
    using folder = createFolder({ 'realms/a.yaml': 'realm: a\nroles: [{ name: x }]\n' })
    const { realms, diagnostics } = await folder.load({
      paths: ['realms/a.yaml', 'realms', './realms'],
    })
    expect(diagnostics).toEqual([])
    expect(realms).toHaveLength(1)
  })

  it('with a document that does not say its realm is an error there', async () => {
    using folder = createFolder({
      'realms/a.yaml':
        '# c\nroles: []\n---\nrealm: a\n---\n- x\n---\nrealm: 7\n---\nrealm:\n---\nrealm: [shop]\n',
    })
    const { realms, diagnostics } = await folder.load()
    expect(realms.map((one) => one.realm)).toEqual(['a'])
    expect(brief(diagnostics)).toEqual([
      'realms/a.yaml:2:1 realm-missing',
      'realms/a.yaml:6:1 realm-document',
      'realms/a.yaml:8:8 realm-name',
      'realms/a.yaml:10:1 realm-missing',
      'realms/a.yaml:12:8 realm-name',
    ])
    const hints = diagnostics.filter(({ code }) => code === 'realm-name').map(({ hint }) => hint)
    expect(hints).toEqual(['put it in quotes', 'write one name: "realm: NAME"'])
  })
})

describe('a path', () => {
  it.each([
    [['nowhere'], 'file-missing', 'nowhere does not exist'],
    [['a.yaml/b'], 'file-unreadable', 'a.yaml/b does not exist'],
    [[''], 'file-missing', 'a path is empty'],
    [['iamctl.yaml'], 'estate-is-no-realm', 'iamctl.yaml describes the estate and holds no realm'],
    [['-'], 'file-missing', 'there is no standard input to read'],
  ])('%j that cannot be read is told of', async (paths, code, message) => {
    using folder = createFolder({ 'a.yaml': realm('a'), 'iamctl.yaml': 'source: x\n' })
    expect((await folder.load({ paths })).diagnostics).toMatchObject([{ code, message }])
  })

  it('of a file may have any name', async () => {
    using folder = createFolder({ 'realm.txt': realm('a') })
    expect((await folder.load({ paths: ['realm.txt'] })).realms).toHaveLength(1)
  })

  it('of standard input is read, and places say so', async () => {
    using folder = createFolder()
    const loaded = await folder.load({
      paths: ['-'],
      stdin: chunks('realm: a\nro', 'les: [1, .nan]\n'),
    })
    expect(loaded.realms.map(({ realm: name }) => name)).toEqual(['a'])
    expect(brief(loaded.diagnostics)).toEqual(['<stdin>:2:12 yaml-number'])
    expect(loaded.textOf('<stdin>')).toBe('realm: a\nroles: [1, .nan]\n')
  })

  it('is shown from where the person is', async () => {
    using folder = createFolder({ 'iamctl.yaml': '', 'realms/a.yaml': 'roles: []', 'sub/x': '' })
    const { diagnostics } = await folder.load({ cwd: join(folder.path, 'sub') })
    expect(brief(diagnostics)).toEqual(['../realms/a.yaml:1:1 realm-missing'])
  })

  it('of a pipe is read', async () => {
    using folder = createFolder()
    const fifo = join(folder.path, 'pipe')
    execFileSync('mkfifo', [fifo])
    const [{ realms }] = await Promise.all([
      folder.load({ paths: ['pipe'] }),
      writeFile(fifo, realm('a')),
    ])
    expect(realms).toHaveLength(1)
  })
})

describe('a pipe beside a named file', () => {
  it('is not read', async () => {
    using folder = createFolder({ 'a.yaml': realm('a') })
    execFileSync('mkfifo', [join(folder.path, 'pipe.yaml')])
    const { realms, diagnostics } = await folder.load({ paths: ['a.yaml'] })
    expect([realms.length, brief(diagnostics)]).toEqual([1, []])
  })
})

describe('bytes', () => {
  it.each([
    ['a byte order mark is not part of the text', Buffer.from('\ufeffrealm: a\n'), []],
    ['windows line ends', Buffer.from('realm: a\r\nroles: []\r\n'), []],
    [
      'latin 1 is an error',
      Buffer.from('realm: a\n# \xe9t\xe9\n', 'latin1'),
      ['r.yaml:2:3 file-encoding'],
    ],
    [
      'utf-16 is an error',
      Buffer.from('\ufeffrealm: a\n', 'utf16le'),
      ['r.yaml:1:1 file-encoding'],
    ],
    [
      'a surrogate alone is an error',
      Buffer.from([0x61, 0xed, 0xa0, 0x80]),
      ['r.yaml:1:2 file-encoding'],
    ],
  ])('%s', async (_, bytes, expected) => {
    using folder = createFolder({ 'r.yaml': bytes })
    const { realms, diagnostics } = await folder.load({ paths: ['r.yaml'] })
    expect(brief(diagnostics)).toEqual(expected)
    expect(realms).toHaveLength(expected.length === 0 ? 1 : 0)
  })
})

describe('links', () => {
  it('inside of the estate are followed, in circles only once', async () => {
    using folder = createFolder({ 'shared/a.yaml': realm('a'), 'realms/b.yaml': realm('b') })
    symlinkSync('../shared', join(folder.path, 'realms/link'))
    symlinkSync('..', join(folder.path, 'realms/up'))
    symlinkSync('b.yaml', join(folder.path, 'realms/c.yaml'))
    const { realms, diagnostics } = await folder.load()
    expect(diagnostics).toEqual([])
    expect(realms.map(({ realm: name }) => name).sort()).toEqual(['a', 'b'])
  })

  it('out of the estate are refused, of files, folders and what is named', async () => {
    using outside = createFolder({ 'x.yaml': realm('x') })
    using folder = createFolder({ 'iamctl.yaml': '', 'realms/a.yaml': realm('a') })
    symlinkSync(join(outside.path, 'x.yaml'), join(folder.path, 'realms/file.yaml'))
    symlinkSync(outside.path, join(folder.path, 'realms/folder'))
    for (const paths of [[], ['realms'], ['realms/file.yaml', 'realms/folder', 'realms/a.yaml']]) {
      const { realms, diagnostics } = await folder.load({ paths })
      expect(realms.map(({ realm: name }) => name)).toEqual(['a'])
      expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([
        'file-outside realms/file.yaml is a link that leads out of the estate',
        'file-outside realms/folder is a link that leads out of the estate',
      ])
    }
  })

  it('that lead nowhere are told of where a realm is expected, and ignored elsewhere', async () => {
    using folder = createFolder({ 'realms/a.yaml': realm('a') })
    symlinkSync('nowhere', join(folder.path, 'realms/b.yaml'))
    symlinkSync('c.yaml', join(folder.path, 'realms/c.yaml'))
    symlinkSync('nowhere', join(folder.path, 'realms/notes'))
    const { diagnostics } = await folder.load()
    expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([
      'file-missing realms/b.yaml does not exist',
      'file-unreadable realms/c.yaml is a link that leads back to itself',
    ])
  })

  it('do not matter for what lies outside and is named', async () => {
    using outside = createFolder({ 'x/x.yaml': realm('x') })
    using folder = createFolder({ 'iamctl.yaml': '' })
    const { realms, diagnostics } = await folder.load({ paths: [join(outside.path, 'x')] })
    expect(diagnostics).toEqual([])
    expect(realms).toHaveLength(1)
  })
})

describe('names that are meant to do harm', () => {
  it.each([
    ['a\nb.yaml', 'realms/a\\nb.yaml'],
    ['\u001b[31mred.yaml', 'realms/\\u001b[31mred.yaml'],
    ['::error file=x::.yaml', 'realms/::error file=x::.yaml'],
    ['--help.yaml', 'realms/--help.yaml'],
    ['$(touch x).yaml', 'realms/$(touch x).yaml'],
    ['%2e%2e%2fx.yaml', 'realms/%2e%2e%2fx.yaml'],
    ['\u202elmay.exe.yaml', 'realms/\\u202elmay.exe.yaml'],
    ['__proto__.yaml', 'realms/__proto__.yaml'],
    [`${'x'.repeat(240)}.yaml`, `realms/${'x'.repeat(240)}.yaml`],
  ])('such as %j are shown harmlessly and read', async (name, shown) => {
    using folder = createFolder({ [`realms/${name}`]: 'realm: a\nx: .nan\n' })
    const { realms, diagnostics, textOf } = await folder.load()
    expect(realms.map(({ files }) => files)).toEqual([[shown]])
    expect(brief(diagnostics)).toEqual([`${shown}:2:4 yaml-number`])
    expect(textOf(shown)).toBe('realm: a\nx: .nan\n')
  })
})

/** Root may read everything, and runs the tests in many containers. */
const asOrdinaryUser = (folder: string): Disposable => {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) {
    chmodSync(folder, 0o755)
    process.seteuid?.('nobody')
  }
  return { [Symbol.dispose]: () => isRoot && process.seteuid?.(0) }
}

describe('what may not be read', () => {
  it('is told of, and the rest is read', async () => {
    using folder = createFolder({ 'realms/a.yaml': realm('a'), 'realms/b.yaml': realm('b') })
    mkdirSync(join(folder.path, 'realms/c'))
    chmodSync(join(folder.path, 'realms/a.yaml'), 0)
    chmodSync(join(folder.path, 'realms/c'), 0)
    using _ = asOrdinaryUser(folder.path)
    const { realms, diagnostics } = await folder.load()
    expect(realms.map(({ realm: name }) => name)).toEqual(['b'])
    expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([
      'file-unreadable realms/a.yaml may not be read',
      'file-unreadable realms/c may not be read',
    ])
  })

  it('is no reason to lose the other realms', async () => {
    using folder = createFolder({ 'realms/a.yaml': 'realm: [', 'realms/b.yaml': realm('b') })
    const { realms, diagnostics } = await folder.load()
    expect(realms.map(({ realm: name }) => name)).toEqual(['b'])
    expect(hasErrors(diagnostics)).toBe(true)
  })
})
