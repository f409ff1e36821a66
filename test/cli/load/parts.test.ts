/** Parts of one realm in several documents and files are one realm, and nothing stands twice. */
import { describe, expect, it } from 'vitest'
import { brief, createFolder } from './folder.ts'

const places = (
  related: readonly { place: { file: string; line: number; column: number } }[] = [],
) => related.map(({ place }) => `${place.file}:${place.line}:${place.column}`)

describe('a realm', () => {
  it('may be split over five files and several documents', async () => {
    using folder = createFolder({
      'realms/1-settings.yaml': 'realm: acme\nsettings: { displayName: Acme }\n',
      'realms/2-more.yaml':
        'realm: acme\nsettings:\n  verifyEmail: true\n---\nrealm: beta\nroles: []\n',
      'realms/3-roles.yaml': 'realm: acme\nroles:\n  - name: a\n  - name: b\n',
      'realms/4-roles.json': '{"realm": "acme", "roles": [{"name": "c"}], "groups": []}',
      'realms/sub/5-rest.yaml':
        '---\n# clients\nrealm: acme\nclients: [{ clientId: web }]\n---\nrealm: acme\nroles: [{ name: d }]\n',
    })
    const { realms, diagnostics } = await folder.load()
    expect(diagnostics).toEqual([])
    const [acme, beta] = realms
    expect(acme?.value).toEqual({
      realm: 'acme',
      settings: { displayName: 'Acme', verifyEmail: true },
      roles: [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }],
      groups: [],
      clients: [{ clientId: 'web' }],
    })
    expect(acme?.files).toHaveLength(5)
    expect(beta).toMatchObject({
      realm: 'beta',
      value: { roles: [] },
      files: ['realms/2-more.yaml'],
    })
    expect(acme?.placeOf('/settings/verifyEmail', 'key')).toEqual({
      file: 'realms/2-more.yaml',
      line: 3,
      column: 3,
      endColumn: 14,
    })
    expect(acme?.placeOf('/roles/2/name')).toMatchObject({
      file: 'realms/4-roles.json',
      column: 38,
    })
    expect(acme?.placeOf('/roles/3/name')).toEqual({
      file: 'realms/sub/5-rest.yaml',
      line: 7,
      column: 17,
      endColumn: 18,
    })
    expect(acme?.placeOf('')).toMatchObject({ file: 'realms/1-settings.yaml', line: 1, column: 1 })
    expect(acme?.placeOf('/roles/4')).toBeUndefined()
  })

  it('may hold a list that is empty in one part', async () => {
    using folder = createFolder({
      'realms/a.yaml': 'realm: a\nroles: []\n---\nrealm: a\nroles: [{ name: x }]\n',
    })
    const { realms, diagnostics } = await folder.load()
    expect(diagnostics).toEqual([])
    expect(realms[0]?.value).toEqual({ realm: 'a', roles: [{ name: 'x' }] })
  })

  it('keeps what the check will tell about', async () => {
    using folder = createFolder({
      'realms/a.yaml': 'realm: a\nroles:\nnobody: [1]\nclients: {x: 1}\ngroups: [{}, 3, ~]\n',
    })
    const { realms, diagnostics } = await folder.load()
    expect(diagnostics).toEqual([])
    expect(realms[0]?.value).toEqual({
      realm: 'a',
      roles: null,
      nobody: [1],
      clients: { x: 1 },
      groups: [{}, 3, null],
    })
    expect(realms[0]?.placeOf('/groups/2')).toMatchObject({ line: 5, column: 17 })
  })
})

describe('what stands twice', () => {
  const a = 'realm: acme\n'
  it.each([
    [
      'an entry in two files',
      {
        '1.yaml': `${a}clients:\n  - clientId: web\n`,
        '2.yaml': `${a}clients:\n  - name: x\n    clientId: web\n`,
      },
      '2.yaml:4:15 duplicate-entry',
      '1.yaml:3:15',
      'client "web" is given in two places',
    ],
    [
      'an entry in one list',
      { '1.yaml': `${a}roles: [{ name: x }, { name: y }, { name: x }]\n` },
      '1.yaml:2:43 duplicate-entry',
      '1.yaml:2:17',
      'role "x" is given in two places',
    ],
    [
      'a child',
      { '1.yaml': `${a}clients:\n  - clientId: web\n    roles: [{ name: r }, { name: r }]\n` },
      '1.yaml:4:34 duplicate-entry',
      '1.yaml:4:21',
      'client-role "web/r" is given in two places',
    ],
    [
      'a group in a tree, split over files',
      {
        '1.yaml': `${a}groups:\n  - name: A\n    groups: [{ name: B, groups: [{ name: C }, { name: C }] }]\n`,
      },
      '1.yaml:4:55 duplicate-entry',
      '1.yaml:4:42',
      'group "/A/B/C" is given in two places',
    ],
    [
      'a key of several fields, one by its default',
      {
        '1.yaml': `${a}messageTemplates:\n  - { templateKey: t, channel: EMAIL }\n`,
        '2.yaml': `${a}messageTemplates:\n  - { templateKey: t, channel: EMAIL, locale: en }\n`,
      },
      '2.yaml:3:20 duplicate-entry',
      '1.yaml:3:20',
      'message-template "t/EMAIL/en" is given in two places',
    ],
    [
      'a field of a singleton',
      {
        '1.yaml': `${a}settings: { displayName: A }\n`,
        '2.yaml': `${a}settings:\n  displayName: A\n`,
      },
      '2.yaml:3:3 duplicate-field',
      '1.yaml:2:13',
      'the field "displayName" of settings is given in two places',
    ],
    [
      'a section that is a list here and null there',
      { '1.yaml': `${a}roles: []\n`, '2.yaml': `${a}roles:\n` },
      '2.yaml:2:1 duplicate-section',
      '1.yaml:2:1',
      '"roles" is given in two places that cannot be merged: a list and nothing',
    ],
  ])('such as %s is an error that names both places', async (_, files, where, first, message) => {
    using folder = createFolder(
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`realms/${name}`, text])),
    )
    const { diagnostics } = await folder.load()
    expect(brief(diagnostics)).toEqual([`realms/${where}`])
    expect(places(diagnostics[0]?.related)).toEqual([`realms/${first}`])
    expect(diagnostics[0]?.message).toBe(message)
  })

  it.each([
    [
      'the same name in two realms',
      'realm: a\nroles: [{ name: x }]\n---\nrealm: b\nroles: [{ name: x }]',
    ],
    [
      'the same role of two clients',
      'realm: a\nclients: [{ clientId: x, roles: [{ name: r }] }, { clientId: y, roles: [{ name: r }] }]',
    ],
    [
      'the same group below two',
      'realm: a\ngroups: [{ name: X, groups: [{ name: G }] }, { name: G }]',
    ],
    ['names in other letters', 'realm: a\nroles: [{ name: x }, { name: X }]'],
    ['entries without a name', 'realm: a\nroles: [{}, {}, { name: ~ }, { name: [x] }]'],
  ])('is not: %s', async (_, text) => {
    using folder = createFolder({ 'realms/a.yaml': text })
    expect((await folder.load()).diagnostics).toEqual([])
  })
})
