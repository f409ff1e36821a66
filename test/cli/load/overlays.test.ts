/** Overlays change realms by natural key, and every place leads to the file that had the word. */
import { describe, expect, it } from 'vitest'
import { brief, createFolder } from './folder.ts'

const base = `realm: acme
settings:
  displayName: Acme
  passwordPolicy: { length: 12, digits: 1 }
roles:
  - name: support
    permissions: [view-users]
  - name: sales
groups:
  - name: Staff
    roles: [support]
    groups:
      - name: Helpdesk
      - name: Office
        groups: [{ name: Front }]
clients:
  - clientId: web
    name: Web
    redirectUris: [https://a.example, https://b.example]
    attributes: { tier: gold, team: shop }
    roles: [{ name: reader, description: Reads }]
messageTemplates:
  - { templateKey: t, channel: EMAIL, body: Hello }
`

const laid = async (...overlays: string[]) => {
  using folder = createFolder({ 'realms/acme.yaml': base })
  const names = overlays.map((text, i) => {
    folder.write({ [`over/${i}.yaml`]: text })
    return `over/${i}.yaml`
  })
  return await folder.load({ paths: ['realms'], overlays: names })
}

const acme = (text: string): string => `realm: acme\n${text}\n`

describe('an overlay', () => {
  it.each([
    ['replaces a field', 'clients: [{ clientId: web, name: New }]', '/clients/0/name', 'New'],
    ['adds a field', 'clients: [{ clientId: web, enabled: false }]', '/clients/0/enabled', false],
    [
      'keeps the others',
      'clients: [{ clientId: web, name: New }]',
      '/clients/0/attributes/tier',
      'gold',
    ],
    [
      'merges maps',
      'clients: [{ clientId: web, attributes: { tier: new } }]',
      '/clients/0/attributes',
      { tier: 'new', team: 'shop' },
    ],
    [
      'replaces lists whole',
      'clients: [{ clientId: web, redirectUris: [https://c.example] }]',
      '/clients/0/redirectUris',
      ['https://c.example'],
    ],
    [
      'merges singletons',
      'settings: { passwordPolicy: { length: 16 } }',
      '/settings',
      { displayName: 'Acme', passwordPolicy: { length: 16, digits: 1 } },
    ],
    [
      'takes a field out with null',
      'clients: [{ clientId: web, name: ~ }]',
      '/clients/0/name',
      undefined,
    ],
    [
      'takes a field of a map out',
      'clients: [{ clientId: web, attributes: { tier: null } }]',
      '/clients/0/attributes',
      { team: 'shop' },
    ],
    [
      'takes a field of a singleton out',
      'settings: { passwordPolicy: null }',
      '/settings',
      { displayName: 'Acme' },
    ],
    [
      'keeps a null where there was nothing',
      'clients: [{ clientId: web, baseUrl: ~ }]',
      '/clients/0/baseUrl',
      null,
    ],
    [
      'adds an entry behind the others',
      'roles: [{ name: new, add: true }]',
      '/roles/2',
      { name: 'new' },
    ],
    ['adds a section', 'webhooks: [{ name: w, add: true }]', '/webhooks', [{ name: 'w' }]],
    ['removes an entry', 'roles: [{ name: support, remove: true }]', '/roles', [{ name: 'sales' }]],
    [
      'does not remove for "remove: false"',
      'roles: [{ name: sales, remove: false }]',
      '/roles/1',
      { name: 'sales' },
    ],
    [
      'changes a child',
      'clients: [{ clientId: web, roles: [{ name: reader, description: R }] }]',
      '/clients/0/roles',
      [{ name: 'reader', description: 'R' }],
    ],
    [
      'adds a child',
      'clients: [{ clientId: web, roles: [{ name: writer, add: true }] }]',
      '/clients/0/roles/1',
      { name: 'writer' },
    ],
    [
      'removes a child',
      'clients: [{ clientId: web, roles: [{ name: reader, remove: true }] }]',
      '/clients/0/roles',
      [],
    ],
    [
      'adds children of another kind',
      'clients: [{ clientId: web, mappers: [{ name: m, add: true }] }]',
      '/clients/0/mappers',
      [{ name: 'm' }],
    ],
    [
      'adds below a tree',
      'groups: [{ name: Staff, groups: [{ name: Office, groups: [{ name: Back, add: true }] }] }]',
      '/groups/0/groups/1/groups',
      [{ name: 'Front' }, { name: 'Back' }],
    ],
    [
      'removes below a tree',
      'groups: [{ name: Staff, groups: [{ name: Helpdesk, remove: true }] }]',
      '/groups/0/groups',
      [{ name: 'Office', groups: [{ name: 'Front' }] }],
    ],
    [
      'finds a key of several fields by its default',
      'messageTemplates: [{ templateKey: t, channel: EMAIL, locale: en, body: Bye }]',
      '/messageTemplates',
      [{ templateKey: 't', channel: 'EMAIL', locale: 'en', body: 'Bye' }],
    ],
    ['changes nothing with an empty list', 'roles: []', '/roles/1', { name: 'sales' }],
    ['does not take a section out with null', 'roles: ~', '/roles', null],
    ['does not take a singleton out with null', 'settings: ~', '/settings', null],
  ])('%s', async (_, text, pointer, expected) => {
    const { realms, diagnostics } = await laid(acme(text))
    expect(diagnostics).toEqual([])
    const found = pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], realms[0]?.value)
    expect(found).toEqual(expected)
  })

  it('leaves everything else as it is, also the first overlay of two', async () => {
    const { realms, diagnostics } = await laid(
      acme('roles: [{ name: new, add: true, description: One }, { name: sales, remove: true }]'),
      acme(
        'roles: [{ name: new, description: Two }, { name: sales, add: true, description: Back }]',
      ),
    )
    expect(diagnostics).toEqual([])
    expect(realms[0]?.value['roles']).toEqual([
      { name: 'support', permissions: ['view-users'] },
      { name: 'new', description: 'Two' },
      { name: 'sales', description: 'Back' },
    ])
    expect(realms[0]?.files).toEqual(['realms/acme.yaml', 'over/0.yaml', 'over/1.yaml'])
  })

  it('is where its words are found, and the base where its are', async () => {
    const { realms } = await laid(
      acme(
        'clients:\n  - clientId: web\n    attributes: { tier: new }\n    roles: [{ name: x, add: true }]',
      ),
    )
    const placeOf = (pointer: string, what?: 'key') => {
      const place = realms[0]?.placeOf(pointer, what)
      return `${place?.file}:${place?.line}:${place?.column}`
    }
    expect(placeOf('/clients/0/attributes/tier')).toBe('over/0.yaml:4:25')
    expect(placeOf('/clients/0/attributes/team')).toBe('realms/acme.yaml:20:37')
    expect(placeOf('/clients/0/clientId')).toBe('over/0.yaml:3:15')
    expect(placeOf('/clients/0/name', 'key')).toBe('realms/acme.yaml:18:5')
    expect(placeOf('/clients/0/roles/1/name')).toBe('over/0.yaml:5:21')
    expect(placeOf('/clients/0')).toBe('realms/acme.yaml:17:5')
  })

  it('may be a folder with parts of several realms', async () => {
    using folder = createFolder({
      'realms/a.yaml': 'realm: a\nroles: [{ name: x }]\n---\nrealm: b\n',
      'overlays/prod/1.yaml': 'realm: a\nroles: [{ name: x, description: X }]\n',
      'overlays/prod/deep/2.yaml':
        'realm: b\nroles: [{ name: y, add: true }]\n---\nrealm: a\nroles: [{ name: z, add: true }]\n',
      'overlays/dev/1.yaml': 'realm: a\nroles: [{ name: dev }]\n',
    })
    const { realms, diagnostics } = await folder.load({ paths: ['.'], overlays: ['overlays/prod'] })
    expect(diagnostics).toEqual([])
    expect(realms.map(({ value }) => value)).toEqual([
      { realm: 'a', roles: [{ name: 'x', description: 'X' }, { name: 'z' }] },
      { realm: 'b', roles: [{ name: 'y' }] },
    ])
  })

  it('is the one of iamctl.yaml unless another is named', async () => {
    using folder = createFolder({
      'iamctl.yaml': 'overlays: [overlays/prod]\n',
      'realms/a.yaml': 'realm: a\n',
      'overlays/prod/a.yaml': 'realm: a\nroles: [{ name: prod, add: true }]\n',
      'overlays/dev/a.yaml': 'realm: a\nroles: [{ name: dev, add: true }]\n',
    })
    const { realms } = await folder.load()
    expect(realms[0]?.value['roles']).toEqual([{ name: 'prod' }])
    const named = await folder.load({ overlays: ['overlays/dev'] })
    expect(named.realms[0]?.value['roles']).toEqual([{ name: 'dev' }])
  })
})

describe('an overlay is wrong when it', () => {
  it.each([
    [
      'removes what is not there',
      'roles: [{ name: suport, remove: true }]',
      '2:9 overlay-remove-missing',
      'did you mean "support"?',
    ],
    [
      'removes a child that is not there',
      'clients: [{ clientId: web, roles: [{ name: x, remove: true }] }]',
      '2:36 overlay-remove-missing',
      undefined,
    ],
    [
      'removes a child of a new entry',
      'clients: [{ clientId: new, add: true, roles: [{ name: x, remove: true }] }]',
      '2:47 overlay-remove-missing',
      undefined,
    ],
    [
      'removes and changes',
      'roles: [{ name: sales, remove: true, description: x }]',
      '2:38 overlay-remove',
      'to take only a field out, write "FIELD: null" and no "remove"',
    ],
    [
      'says "remove" to something else',
      'roles: [{ name: sales, remove: yes }]',
      '2:32 overlay-remove',
      undefined,
    ],
    [
      'names an entry twice',
      'roles: [{ name: sales }, { name: sales }]',
      '2:34 duplicate-entry',
      undefined,
    ],
  ])('%s', async (_, text, where, hint) => {
    const { realms, diagnostics } = await laid(acme(text))
    expect(brief(diagnostics)).toEqual([`over/0.yaml:${where}`])
    expect(diagnostics[0]?.hint).toBe(hint)
    expect(realms).toHaveLength(1)
  })

  it('is not there', async () => {
    using folder = createFolder({ 'realms/a.yaml': 'realm: a\n' })
    const { diagnostics } = await folder.load({ overlays: ['over'] })
    expect(diagnostics.map(({ message }) => message)).toEqual(['over does not exist'])
  })
})

describe('a realm that stands only in an overlay', () => {
  it('is added with a warning', async () => {
    const { realms, diagnostics } = await laid('realm: acne\nroles: [{ name: x }]\n')
    expect(realms.map(({ value }) => value['realm'])).toEqual(['acme', 'acne'])
    expect(realms[1]?.value).toEqual({ realm: 'acne', roles: [{ name: 'x' }] })
    expect(brief(diagnostics)).toEqual(['over/0.yaml:1:8 overlay-realm'])
    expect(diagnostics[0]).toMatchObject({ severity: 'warning', hint: 'did you mean "acme"?' })
  })

  it('is left out where single files are named: their realms are wanted, and no half of another', async () => {
    using folder = createFolder({
      'realms/a.yaml': 'realm: a\n',
      'realms/b.yaml': 'realm: b\n',
      'over.yaml': 'realm: a\nroles: []\n---\nrealm: b\nroles: []\n',
    })
    const { realms, diagnostics } = await folder.load({
      paths: ['realms/a.yaml'],
      overlays: ['over.yaml'],
    })
    expect(realms.map(({ realm }) => realm)).toEqual(['a'])
    expect(brief(diagnostics)).toEqual(['over.yaml:4:8 overlay-realm'])
  })
})
