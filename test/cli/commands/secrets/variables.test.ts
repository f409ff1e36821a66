/** Variables that look like numbers or like true or false, in fields that take text and in fields that do not. */
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const texts = [
  '0012345',
  '1.10',
  'true',
  'False',
  '1e3',
  '-0',
  '0x1F',
  '+49',
  '12345678901234567890',
  '.5',
]

/** Where a text may stand: plain, in quotes, in flow collections, in maps, in lists, in keys and names. */
const file = (realm: string): string => `realm: ${realm}
clients:
  - clientId: plain-\${var:V}
    name: \${var:V}
  - clientId: "quoted-\${var:V}"
    name: "\${var:V}"
  - { clientId: flow, name: "\${var:V}" }
roles:
  - name: \${var:V}
    description: \${var:V}
groups:
  - name: top
    groups:
      - name: \${var:V}
        attributes: { one: ["\${var:V}"] }
settings:
  displayName: \${var:V}
  accessTokenLifespan: \${var:N}
  registrationAllowed: \${var:B}
`

describe('a variable', () => {
  it.each(texts)(
    '%s is text where the field takes text, and numbers and flags keep their type',
    async (text) => {
      const realm = newRealm()
      const { run } = newEstate(world(), { 'realm.yaml': file(realm) })
      const vars = ['--var', `V=${text}`, '--var', 'N=120', '--var', 'B=true']
      const { code, stdout, stderr } = await run('plan realm.yaml -o json', ...vars)
      expect(code, stderr).toBe(0)
      const docs = new Map(
        JSON.parse(stdout).realms[0].changes.map(
          ({ kind, key, doc }: { kind: string; key: string; doc: object }) => [
            `${kind} ${key}`,
            doc,
          ],
        ),
      )
      for (const key of [`plain-${text}`, `quoted-${text}`, 'flow'])
        expect(docs.get(`client ${key}`)).toMatchObject({ name: text })
      expect(docs.get(`role ${text}`)).toMatchObject({ name: text, description: text })
      expect(docs.get(`group /top/${text}`)).toMatchObject({ attributes: { one: [text] } })
      expect(docs.get('settings settings')).toMatchObject({
        displayName: text,
        accessTokenLifespan: 120,
        registrationAllowed: true,
      })
    },
  )

  it('can be the name of a realm, and an overlay finds what it names', async () => {
    const { run } = newEstate(world(), {
      'realm.yaml': `realm: \${var:R}\nroles: [{ name: "\${var:V}" }]\n`,
      'over.yaml': `realm: "2026"\nroles: [{ name: "1.10", description: found }]\n`,
    })
    const { code, stdout, stderr } = await run(
      'plan realm.yaml --overlay over.yaml -o json --var R=2026 --var V=1.10',
    )
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout).realms).toMatchObject([
      { realm: '2026', changes: [{ key: '1.10', doc: { description: 'found' } }] },
    ])
  })
})

describe('a variable that looks like a number and names the realm', () => {
  it('is text in the files beside a named one too, so that their documents stay', async () => {
    const { run, write } = newEstate(world(), {
      'iamctl.yaml': 'source: beside\npaths: [.]\n',
      'a.yaml': `realm: \${var:R}\nroles: [{ name: one }]\n`,
      'b.yaml': `realm: \${var:R}\nroles: [{ name: two }]\n`,
    })
    const given = '--var R=0012'
    const applied = await run(`apply --auto-approve ${given}`)
    expect(applied.code, applied.stderr).toBe(0)
    write({ 'a.yaml': `realm: \${var:R}\nroles: [{ name: one, description: changed }]\n` })
    const { code, stdout, stderr } = await run(`plan a.yaml -o json ${given}`)
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout).realms[0].changes).toMatchObject([{ action: 'update', key: 'one' }])
  })
})

describe('a variable that nobody gave', () => {
  it('is one error, with the first place and the count, however often it is used', async () => {
    const uses = Array.from(
      { length: 160 },
      (_, i) => `  - { name: role-${i}, description: "\${var:GONE} ${i}" }\n`,
    )
    const { run } = newEstate(world(), {
      'iamctl.yaml': 'paths: [.]\n',
      'a.yaml': `realm: ${newRealm()}\nroles:\n${uses.join('')}  - { name: last, description: "\${var:OTHER}" }\n`,
    })
    const { code, stdout } = await run('validate -o json')
    expect(code).toBe(3)
    const found = JSON.parse(stdout).diagnostics.filter(
      (one: { code: string }) => one.code === 'variable-unknown',
    )
    expect(found).toMatchObject([
      {
        message: 'there is no variable "GONE" (used 160 times, first here)',
        place: { file: 'a.yaml', line: 3 },
      },
      { message: 'there is no variable "OTHER"', place: { line: 163 } },
    ])
  })

  it('hides what would be wrong with the text around it, and nothing else', async () => {
    const { run } = newEstate(world(), {
      'iamctl.yaml': 'paths: [.]\n',
      'a.yaml': `realm: ${newRealm()}\nclients:\n  - clientId: web\n    publicClient: true\n    grantTypes: [authorization_code]\n    redirectUris: ["\${var:GONE}/cb", "\${var:GONE}/x", "no uri"]\n    defaultScopes: ["\${var:GONE}"]\n`,
    })
    const { code, stdout } = await run('validate -o json')
    expect(code).toBe(3)
    expect(JSON.parse(stdout).diagnostics.map((one: { code: string }) => one.code)).toEqual([
      'variable-unknown',
      'format',
    ])
  })
})
