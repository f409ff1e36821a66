/** Files that are hard to format: each is valid, and says and comments something that must still be there. */

export const awkward: Readonly<Record<string, string>> = {
  'comments everywhere': `# head
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
  - # inside dash
    clientId: web
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
  'comments between key and value': `realm:
  # why
  acme
settings: # one
  # two
  { displayName: x } # three
roles:
  # none yet
groups:
  -
    # about the group
    name: A
`,
  'flow style': `{realm: acme, settings: {displayName: "Acme", passwordPolicy: {length: 12}},
 roles: [{name: a, permissions: [view-users, 'view-events']}, {name: "b"}], groups: [], clients: [{clientId: web}]}
`,
  'flow style with comments': `realm: acme
clients: [ # opening
  # before the first
  { clientId: web, # id
    name: Web }, # behind the first
  # before the second
  { clientId: b } # behind the second
  # at the end
] # behind all
roles: [] # empty
`,
  'anchors, aliases and merge keys': `realm: acme
clients:
  - &base
    name: Base
    clientId: base
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
  'an alias whose anchor would come later': `realm: acme
users:
  - username: alice
    attributes: &a { x: [y] }
roles:
  - name: r
    attributes: *a
`,
  'Windows line breaks':
    'realm: acme\r\n# c\r\nsettings:\r\n  displayName: "x"\r\n  welcomeText: |\r\n    a\r\n    b\r\n',
  'several documents': `# prelude
---
# about one
settings: { displayName: One }
realm: one
# end of one
---
realm: two # t
...
# between
---
---
realm: three
`,
  'a directive': `%YAML 1.2
---
realm: acme
settings: {enabled: true}
`,
  'block text': `realm: acme
messageTemplates:
    - body: |
          one
            two

          three
      templateKey: a
      channel: EMAIL
    - templateKey: b
      channel: SMS
      body: >-
          folded
          text

          more
      subject: |2-
           indented
          less
    - templateKey: c
      channel: PUSH
      body: |+
        kept


    - templateKey: d # after kept
      channel: PUSH
      body: > # on the header
        x
`,
  'text over lines': `realm: acme
settings:
  displayName: plain over
    lines
  welcomeText: "double
    quoted\\
    \\ joined

    paragraph"
  customCss: 'single
    quoted'
`,
  'quotes that are needed': `realm: acme
users:
  - username: "yes"
    attributes:
      a: ["1", '2.5', "true", 'null', "~", "", " x", "x ", "a: b", "a #b", "#c", "*d", "&e", "!f", "@g", "%h"]
      b: ['-', "- x", "? y", ": z", '{a}', '[b]', "a'b", 'a"b', "2024-01-01", "12:30:45", "0o17", "0x1f", "1e3", "on"]
      c: ["plain", 'also plain', "http://x.example/y?z=1", 'a,b', "50%", "x:y", "a-b", "/path/*"]
      d: ["\\u200b", "tab\\there", "caf\\u00e9", "\\ud83d\\ude00", "nb\\u00a0sp"]
      "e f": ['x']
      "1": ["x"]
`,
  'variables in and out of braces': `realm: acme
settings: { accessTokenLifespan: "\${var:TTL:-300}", displayName: '\${var:NAME}' }
clients:
  - clientId: web
    name: "\${var:NAME}"
    redirectUris: ["\${var:URL}/cb", '\${var:OTHER:-a: b}']
    description: \${var:PLAIN}
    secret: \${env:SECRET}
`,
  'fields in any order': `clients:
- roles: [{description: d, name: n}]
  protected: true
  enabled: true
  unknown: 1
  renamedFrom: old
  name: Web
  clientId: web
settings: {passwordPolicy: {digits: 1, length: 12}, enabled: true, displayName: x}
realm: acme
`,
  'lists of lists and odd indentation': `realm: acme
x:
-   - a
    -   b
-
    - c
y:
      deep:
            deeper: 1
`,
  'explicit keys and nulls': `realm: acme
? settings
: { displayName: , enabled: true }
roles:
-
- ~
users: null
`,
  'a list at the indentation of its key, and comments there': `realm: acme
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
  'too many empty lines': `


realm: acme



settings:


  displayName: x


roles: []


`,
  'nothing but comments': '# only\n# comments\n',
  empty: '',
  'tags that mean something': `realm: !!str acme
roles: !!seq
  - !!map
    name: !!str 5
`,
  'long text stays on its line': `realm: acme
settings:
  welcomeText: ${'word '.repeat(60)}end
  customCss: "${'word '.repeat(60)}: end"
`,
}
