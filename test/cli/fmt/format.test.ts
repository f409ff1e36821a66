/** The formatter: canonical order and style; the same values, the same comments, and nothing to do the second time. */
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { commentsOf } from '#cli/fmt/comments.ts'
import { format } from '#cli/fmt/format.ts'
import { isPlain } from '#cli/fmt/quotes.ts'
import { readDocuments } from '#cli/load/yaml/nodes.ts'
import { createSource } from '#cli/load/yaml/source.ts'
import { toJson } from '#cli/load/yaml/tree.ts'
import { awkward } from './awkward.ts'

const formatted = (text: string): string => {
  const result = format(createSource('a.yaml', text))
  if (result.status !== 'formatted') throw new Error(JSON.stringify(result))
  return result.text
}

const valuesOf = (text: string): unknown[] =>
  readDocuments(createSource('a.yaml', text)).documents.map(toJson)

const comments = (text: string): string[] => commentsOf(text).map((comment) => comment.text)

describe.each(Object.entries(awkward))('%s', (_, text) => {
  const once = formatted(text)

  it('is formatted once and for all', () => {
    expect(formatted(once)).toBe(once)
    expect(format(createSource('a.yaml', once))).toMatchObject({ changed: false })
  })

  it('says the same to both YAML libraries', () => {
    expect(valuesOf(once)).toEqual(valuesOf(text))
    const plainly = (one: string): unknown[] =>
      parseAllDocuments(one, { merge: true }).map((document) => document.toJS())
    expect(plainly(once)).toEqual(plainly(text.replaceAll('\r\n', '\n')))
  })

  it('keeps every comment', () => {
    expect(comments(once).sort()).toEqual(comments(text.replaceAll('\r\n', '\n')).sort())
  })

  it('has line feeds only, no space at the end of a line of its own, and ends with one line break', () => {
    expect(once).not.toContain('\r')
    expect(once).toMatch(/^$|[^\n]\n$/)
    expect(once).not.toMatch(/\n\n\n(?!\s*- templateKey)/)
  })
})

const golden: readonly (readonly [title: string, before: string, after: string])[] = [
  [
    'sections stand in reading order, fields in the order of the schema, the key first',
    awkward['fields in any order'] ?? '',
    `realm: acme
settings: { displayName: x, enabled: true, passwordPolicy: { length: 12, digits: 1 } }
clients:
  - clientId: web
    renamedFrom: old
    name: Web
    enabled: true
    protected: true
    roles: [{ name: n, description: d }]
    unknown: 1
`,
  ],
  [
    'comments stay with what they are about',
    awkward['comments everywhere'] ?? '',
    `# head
# second

realm: acme # trailing

# before settings
settings: # behind the key
  # first in settings
  displayName: Acme # dn

  # second
  enabled: true
  # end of settings

# before clients
clients: # cl
  # the shop
  # inside dash
  - clientId: web
    # before name
    name: Web
    # end of web
  # second client
  - clientId: b
    # own line before a list
    redirectUris: # behind redirectUris
      # first
      - https://a.example/cb # a
      # between

      - https://b.example/cb
      # last
  # end of clients
# end of file
`,
  ],
  [
    'comments move with their field, and those of the file stay on top',
    `# yaml-language-server: $schema=x
# About clients.
clients: []

# About the realm.
realm: acme
`,
    `# yaml-language-server: $schema=x
# About the realm.
realm: acme

# About clients.
clients: []
`,
  ],
  [
    'braces stay on one line, and become lines where they hold comments',
    awkward['flow style with comments'] ?? '',
    `realm: acme
roles: [] # empty
# behind all
clients: # opening
  # before the first
  # behind the first
  - clientId: web # id
    name: Web
  # before the second
  - { clientId: b } # behind the second
  # at the end
`,
  ],
  [
    'a map with merge keys keeps its order, and anchors stay',
    awkward['anchors, aliases and merge keys'] ?? '',
    `realm: acme
clients:
  - &base
    clientId: base
    name: Base
    redirectUris: &uris
      - https://a.example/cb
  - <<: *base
    publicClient: true
    clientId: web
    redirectUris: *uris
  - <<: [*base]
    clientId: third
    name: &n Third
    description: *n
`,
  ],
  [
    'where an alias would come before its anchor, the order stays and the style does not',
    awkward['an alias whose anchor would come later'] ?? '',
    `realm: acme
users:
  - username: alice
    attributes: &a { x: [y] }
roles:
  - name: r
    attributes: *a
`,
  ],
  [
    'documents stay apart, with their comments',
    awkward['several documents'] ?? '',
    `# prelude
---
realm: one
# about one
settings: { displayName: One }
# end of one
---
realm: two # t
# between
---
---
realm: three
`,
  ],
  [
    'blocks of text keep their lines',
    awkward['block text'] ?? '',
    `realm: acme
messageTemplates:
  - templateKey: a
    channel: EMAIL
    body: |
      one
        two

      three
  - templateKey: b
    channel: SMS
    subject: |2-
         indented
        less
    body: >-
      folded
      text

      more
  - templateKey: c
    channel: PUSH
    body: |+
      kept


  - templateKey: d # after kept
    channel: PUSH
    body: > # on the header
      x
`,
  ],
  [
    'a variable has a type only where it has one now',
    awkward['variables in and out of braces'] ?? '',
    `realm: acme
settings: { displayName: '\${var:NAME}', accessTokenLifespan: "\${var:TTL:-300}" }
clients:
  - clientId: web
    name: "\${var:NAME}"
    description: \${var:PLAIN}
    secret: \${env:SECRET}
    redirectUris: ["\${var:URL}/cb", '\${var:OTHER:-a: b}']
`,
  ],
  [
    'a comment belongs to what stands at its indentation',
    awkward['a list at the indentation of its key, and comments there'] ?? '',
    `realm: acme
roles:
  # first
  - name: a
  # second
  - name: b
# not of roles
groups:
  - name: G
# the end
`,
  ],
  [
    'one empty line is enough',
    awkward['too many empty lines'] ?? '',
    `realm: acme

settings:
  displayName: x

roles: []
`,
  ],
]

describe('the form', () => {
  it.each(golden)('%s', (_, before, after) => {
    expect(formatted(before)).toBe(after)
    expect(formatted(after)).toBe(after)
  })
})

describe('quotes', () => {
  it.each([
    'plain',
    'two words',
    'https://x.example/?a=b#c',
    '/Staff',
    'a:b',
    'x-y',
    'über',
    '50%',
  ])('around %j are not needed', (text) => {
    expect(isPlain(text)).toBe(true)
    expect(formatted(`realm: "${text}"\n`)).toBe(`realm: ${text}\n`)
  })

  it.each([
    'yes',
    'No',
    'on',
    '1',
    '0o7',
    '1_000',
    '12:30',
    '2024-01-01',
    'null',
    '~',
    '',
    'a: b',
    'a #b',
  ])('around %j are needed, for us or for others', (text) => {
    expect(isPlain(text)).toBe(false)
    expect(formatted(`realm: "${text}"\n`)).toBe(`realm: "${text}"\n`)
  })

  it('stay around what nobody would see', () => {
    const text = 'realm: "a\\u200bb"\n'
    expect(formatted(text)).toBe(text)
  })
})

describe('a file', () => {
  it('that cannot be read is told about, and not formatted', () => {
    const result = format(createSource('a.yaml', 'realm: [\n'))
    expect(result).toMatchObject({ status: 'invalid', diagnostics: [{ code: 'yaml-syntax' }] })
  })

  it.each([
    ['keys that are lists', '? [a, b]\n: c\n'],
    ['keys with anchors', '&a key: x\n'],
  ])('with %s is left as it is, and the reason is said', (_, text) => {
    expect(['left', 'invalid']).toContain(format(createSource('a.yaml', text)).status)
  })
})
