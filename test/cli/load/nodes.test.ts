/** Text -> values with places: what YAML says, where it says it, and what is wrong with it. */
import { describe, expect, it } from 'vitest'
import { readDocuments } from '#cli/load/yaml/nodes.ts'
import { createSource } from '#cli/load/yaml/source.ts'
import { placeAtPointer, toJson } from '#cli/load/yaml/tree.ts'

const read = (text: string) => readDocuments(createSource('a.yaml', text))

const lines = (...all: string[]): string => all.join('\n')

/** `line:column-endColumn`, the end only where it is on the same line. */
const placeIn = (text: string, pointer: string, what: 'value' | 'key' = 'value'): string => {
  const { documents, diagnostics } = read(text)
  expect(diagnostics).toEqual([])
  const [document] = documents
  const place = document && placeAtPointer(document, pointer, what)
  if (place === undefined) return 'nowhere'
  return `${place.line}:${place.column}${place.endColumn === undefined ? '' : `-${place.endColumn}`}`
}

describe('a value', () => {
  it.each([
    ['null', null],
    ['~', null],
    ['', null],
    ['true', true],
    ['False', false],
    ['yes', 'yes'],
    ['off', 'off'],
    ['12', 12],
    ['-7', -7],
    ['0o17', 15],
    ['0x1F', 31],
    ['012', 12],
    ['1.10', 1.1],
    ['.5', 0.5],
    ['1e3', 1000],
    ['1_000', '1_000'],
    ['12:30:45', '12:30:45'],
    ['2026-01-02', '2026-01-02'],
    ['"12"', '12'],
    ["'true'", 'true'],
    ['!!str 12', '12'],
    ['! 12', '12'],
    ['!!int "12"', 12],
    ['!<tag:yaml.org,2002:str> 12', '12'],
    ['"a\\tb\\u00e9\\n"', 'a\tbé\n'],
    ["'it''s'", "it's"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
    ['${var:A:-b}', '${var:A:-b}'],
    ['$argon2id$v=19$m=1,t=2,p=1$YQ$Yg', '$argon2id$v=19$m=1,t=2,p=1$YQ$Yg'],
  ])('written %j is %j', (written, value) => {
    const { documents, diagnostics } = read(`a: ${written}\n`)
    expect(diagnostics).toEqual([])
    expect(documents.map(toJson)).toEqual([{ a: value }])
  })

  it('knows tags under the handles that a directive declares', () => {
    const text = lines('%TAG !y! tag:yaml.org,2002:', '---', 'a: !y!str 12')
    expect(read(text).documents.map(toJson)).toEqual([{ a: '12' }])
  })
})

describe('the place', () => {
  const block = lines(
    '# a comment', //            1
    'realm: acme   # why', //    2
    '', //                       3
    'clients:', //               4
    '  - clientId: "web"', //    5
    '    # the next', //         6
    '    redirectUris:', //      7
    '      - https://a.example', // 8
    '      - # behind the dash', // 9
    '        https://b.example', // 10
    '    description: |  # text', // 11
    '      one', //              12
    '      two', //              13
    '    name: >-', //           14
    '      folded', //           15
    '    secret:', //            16
    '  -', //                    17
    '  - clientId: api', //      18
  )

  it.each([
    ['', '2:1'],
    ['/realm', '2:8-12'],
    ['/clients', '5:3'],
    ['/clients/0', '5:5'],
    ['/clients/0/clientId', '5:15-20'],
    ['/clients/0/redirectUris', '8:7'],
    ['/clients/0/redirectUris/0', '8:9-26'],
    ['/clients/0/redirectUris/1', '10:9-26'],
    ['/clients/0/description', '11:18'],
    ['/clients/0/name', '14:11'],
    ['/clients/0/secret', '16:5-11'],
    ['/clients/1', '17:3-4'],
    ['/clients/2/clientId', '18:15-18'],
    ['/clients/3', 'nowhere'],
    ['/roles', 'nowhere'],
  ])('of the value %j in block style is %s', (pointer, place) => {
    expect(placeIn(block, pointer)).toBe(place)
  })

  it.each([
    ['/realm', '2:1-6'],
    ['/clients/0/description', '11:5-16'],
    ['/clients/2', '18:5'],
  ])('of the key %j is %s', (pointer, place) => {
    expect(placeIn(block, pointer, 'key')).toBe(place)
  })

  const flow = lines(
    '{ "realm": "acme", # c', //                1
    '  "a/b": { x~y: [1, [2, {z: }], \'q\'] },', // 2
    '  k, "long":', //                          3
    '    "two', //                              4
    '     lines" }', //                         5
  )

  it.each([
    ['', '1:1'],
    ['/realm', '1:12-18'],
    ['/a~1b', '2:10'],
    ['/a~1b/x~0y', '2:17'],
    ['/a~1b/x~0y/0', '2:18-19'],
    ['/a~1b/x~0y/1/0', '2:22-23'],
    ['/a~1b/x~0y/1/1/z', '2:26-27'],
    ['/a~1b/x~0y/2', '2:33-36'],
    ['/k', '3:3-4'],
    ['/long', '4:5'],
  ])('of the value %j in flow style is %s', (pointer, place) => {
    expect(placeIn(flow, pointer)).toBe(place)
  })

  it('is the same with CRLF, a byte order mark in front of the text counts for nothing', () => {
    const text = `\ufeff${block.replaceAll('\n', '\r\n')}`
    expect(placeIn(text, '/clients/2/clientId')).toBe('18:15-18')
    expect(placeIn(text, '/clients/0/description')).toBe('11:18')
    expect(placeIn(text, '/clients/1')).toBe('17:3-4')
    expect(read(text).documents.map(toJson)).toEqual(read(block).documents.map(toJson))
  })

  it('counts a character outside of the basic plane as two, as editors do', () => {
    expect(placeIn('{ a: 😀, b: x }', '/b')).toBe('1:13-14')
  })

  it.each([
    ['&x\nb: 1', '2:1'],
    ['a: 1\n---\nb: 2', '1:1'],
    ['- - a\n  - b', '1:1'],
  ])('of the document %j is %s', (text, place) => {
    expect(placeIn(text, '')).toBe(place)
  })

  it('of what an alias or a merge key repeats is where it is written', () => {
    const text = lines('base: &b {ttl: 5, on: true}', 'one: *b', 'two:', '  <<: *b', '  ttl: 6')
    expect(placeIn(text, '/one/ttl')).toBe('1:16-17')
    expect(placeIn(text, '/one', 'key')).toBe('2:1-4')
    expect(placeIn(text, '/two/on', 'key')).toBe('1:19-21')
    expect(placeIn(text, '/two/ttl')).toBe('5:8-9')
  })

  it('of empty items in a list is their dash', () => {
    const text = lines('a:', '- [x]', '-', '- # c', '-', '- y', '- |', '  t', '-')
    expect(['1', '2', '3', '6'].map((i) => placeIn(text, `/a/${i}`))).toEqual([
      '3:1-2',
      '4:1-2',
      '5:1-2',
      '9:1-2',
    ])
  })
})

describe('anchors, aliases and merge keys', () => {
  it('reach over sections, and the last anchor of a name counts', () => {
    const text = lines(
      'x: &uris [https://a.example]',
      'clients:',
      '  - redirectUris: *uris',
      'y: &uris [https://b.example]',
      'z: *uris',
    )
    expect(read(text).documents.map(toJson)).toEqual([
      {
        x: ['https://a.example'],
        clients: [{ redirectUris: ['https://a.example'] }],
        y: ['https://b.example'],
        z: ['https://b.example'],
      },
    ])
  })

  it('give values that are copies of each other, not the same object', () => {
    const [value] = read('a: &x {n: 1}\nb: *x').documents.map(toJson) as [Record<string, unknown>]
    expect(value['a']).not.toBe(value['b'])
  })

  it.each([
    ['own keys win, wherever "<<" stands', '{<<: {a: 1, b: 1}, a: 2}', { a: 2, b: 1 }],
    ['after it too', '{a: 2, <<: {a: 1, b: 1}}', { a: 2, b: 1 }],
    ['of a list the earlier map wins', '{<<: [{a: 1}, {a: 2, c: 3}]}', { a: 1, c: 3 }],
    ['an empty list merges nothing', '{<<: [], a: 1}', { a: 1 }],
    ['in quotes it is a key', '{"<<": 1}', { '<<': 1 }],
  ])('merge: %s', (_, text, value) => {
    const { documents, diagnostics } = read(text)
    expect(diagnostics).toEqual([])
    expect(documents.map(toJson)).toEqual([value])
  })

  it('do not reach into the next document', () => {
    expect(read('a: &x 1\n---\nb: *x').diagnostics).toMatchObject([
      { code: 'yaml-alias-unknown', place: { line: 3, column: 4, endColumn: 6 } },
    ])
  })

  const bomb = (width: number, depth: number): string =>
    Array.from({ length: depth }, (_, i) =>
      i === 0
        ? `l0: &l0 [${Array(width).fill('lol').join(', ')}]`
        : `l${i}: &l${i} [${Array(width)
            .fill(`*l${i - 1}`)
            .join(', ')}]`,
    ).join('\n')

  it('that would fill the memory are refused', () => {
    const { documents, diagnostics } = read(bomb(9, 12))
    expect(documents).toEqual([])
    expect(diagnostics).toMatchObject([
      { code: 'yaml-alias-bomb', message: expect.stringContaining('1,000,000') },
    ])
  })

  it('that would fill it by merge keys and as keys are refused too', () => {
    const merging = Array.from({ length: 40 }, (_, i) =>
      i === 0 ? 'm0: &m0 {x: 1}' : `m${i}: &m${i} {a: *m${i - 1}, b: *m${i - 1}, <<: *m${i - 1}}`,
    )
    const asKeys = Array.from({ length: 40 }, (_, i) =>
      i === 0 ? '? &k0 [a]\n: 1' : `? &k${i} [*k${i - 1}, *k${i - 1}, *k${i - 1}]\n: 1`,
    )
    for (const text of [merging.join('\n'), asKeys.join('\n')])
      expect(read(text).diagnostics.map(({ code }) => code)).toContain('yaml-alias-bomb')
  })

  it('are not refused for being many', () => {
    const text = `a: &a [x, y]\nb: [${Array(5000).fill('*a').join(', ')}]`
    expect(read(text).diagnostics).toEqual([])
  })
})

describe('documents', () => {
  it.each([
    ['none', '', 0],
    ['only comments', '# nothing\n\n', 0],
    ['an empty one between two', 'a: 1\n---\n# c\n---\nb: 2\n...\n', 2],
    ['markers at both ends', '---\na: 1\n---\nb: 2\n---\n', 2],
    ['null written out', 'null', 1],
  ])('of a text with %s are counted', (_, text, count) => {
    const { documents, diagnostics } = read(text)
    expect(diagnostics).toEqual([])
    expect(documents).toHaveLength(count)
  })
})

describe('what cannot stand in a document', () => {
  it.each([
    ['a: 1\nb: 2\n"a": 3', 'yaml-duplicate-key', '3:1-4', 'the key "a" is given twice'],
    ['1: x', 'yaml-key', '1:1-2', 'a key must be text, and this is a number'],
    ['true: x', 'yaml-key', '1:1-5', 'a key must be text, and this is true or false'],
    ['a:\n  ~: x', 'yaml-key', '2:3-4', 'a key must be text, and this is nothing'],
    ['? [a, b]\n: x', 'yaml-key', '1:3', 'a key must be text, and this is a list'],
    ['? {a: b}\n: x', 'yaml-key', '1:3', 'a key must be text, and this is a map'],
    ['a:\n  __proto__: {}', 'yaml-key', '2:3-12', 'the key __proto__ is not allowed'],
    ['"\\x5f_proto__": 1', 'yaml-key', '1:1-15', 'the key __proto__ is not allowed'],
    ['a: .nan', 'yaml-number', '1:4-8', 'this is not a finite number'],
    ['a: [-.INF]', 'yaml-number', '1:5-10', 'this is not a finite number'],
    ['a: 9007199254740993', 'yaml-number', '1:4-20', 'this number is too large to be kept exactly'],
    ['a: !ruby/object:X {}', 'yaml-tag', '1:4-18', 'the tag !ruby/object:X has no meaning here'],
    ['a: !!binary aGk=', 'yaml-tag', '1:4-12', 'the tag !!binary has no meaning here'],
    ['a: !!set [x]', 'yaml-tag', '1:4-9', 'the tag !!set has no meaning here'],
    ['a: !!int x', 'yaml-tag', '1:10-11', 'the value does not match its tag !!int'],
    ['a: *nobody', 'yaml-alias-unknown', '1:4-11', 'nothing above is marked with &nobody'],
    ['a: &a [*a]', 'yaml-alias-recursive', '1:8-10', '*a is inside the node that it refers to'],
    ['<<: 3', 'yaml-merge', '1:1-3', '"<<" takes a map or a list of maps, and this is a number'],
    [
      '<<: [{}, x]',
      'yaml-merge',
      '1:1-3',
      '"<<" takes a map or a list of maps, and this is a list',
    ],
  ])('%j: %s at %s', (text, code, where, message) => {
    const [first, ...others] = read(text).diagnostics
    expect(others).toEqual([])
    const { line, column, endColumn } = first?.place ?? {}
    const place = `${line}:${column}${endColumn === undefined ? '' : `-${endColumn}`}`
    expect([first?.code, place, first?.message]).toEqual([code, where, message])
  })

  it('is told of all at once', () => {
    const text = lines('a: .nan', 'a: 1', 'b: *x', '2: y')
    expect(read(text).diagnostics.map(({ code }) => code)).toEqual([
      'yaml-number',
      'yaml-duplicate-key',
      'yaml-alias-unknown',
      'yaml-key',
    ])
  })

  it('names both places of a key that stands twice', () => {
    const [found] = read('a: 1\nb:\n  c: 1\n  d: 2\n  c: 3').diagnostics
    expect(found?.place).toMatchObject({ line: 5, column: 3 })
    expect(found?.related).toMatchObject([{ place: { file: 'a.yaml', line: 3, column: 3 } }])
  })
})

describe('text that is not YAML', () => {
  it.each([
    ['a tab below a key', 'a:\n\tb: 1', 'yaml-tab', '2:1', /tab/],
    ['a tab before an item', 'a:\n  - b\n\t- c', 'yaml-tab', '3:1', /tab/],
    ['a tab behind spaces', 'a:\n  b: 1\n \tc: 1', 'yaml-tab', '3:2', /tab/],
    ['a tab at the start', '\ta: 1', 'yaml-tab', '1:1', /tab/],
    ['an open double quote', 'a: 1\nb: "x\nc: 2', 'yaml-syntax', '2:4', /this " is never closed/],
    ['an open single quote', "b: 'x", 'yaml-syntax', '1:4', /this ' is never closed/],
    ['an open bracket', 'a: [1, {b: 2}\nc: 3', 'yaml-syntax', '1:4', /this \[ is never closed/],
    ['an open brace after block text', 'a: |\n  [ "\nb: {x: 1', 'yaml-syntax', '3:4', /this { is/],
    ['a bracket too many', 'a: ]', 'yaml-syntax', '1:4', /this \] closes nothing/],
    ['a missing comma', 'a: {b: 1 c: 2}', 'yaml-syntax', '1:11', /comma/],
    ['a colon in a value', 'a: b: c', 'yaml-syntax', '1:5', /":"/],
    ['a value that begins with @', 'a: @b', 'yaml-syntax', '1:4', /cannot begin with "@"/],
    ['text behind quotes', 'a: "b" c', 'yaml-syntax', '1:8', /after the closing quote/],
    ['a quote in quotes', "a: 'it's'", 'yaml-syntax', '1:8', /after the closing quote/],
    ['a wrong escape', 'a: "\\q"', 'yaml-syntax', '1:6', /escape/],
    ['no space behind the colon', 'a:b\nc: 1', 'yaml-syntax', '1:2', /no key with a value/],
    ['an item beside a key', 'a: 1\n- b', 'yaml-syntax', '2:1', /does not belong/],
    ['less indentation', 'a:\n    - b\n  - c', 'yaml-syntax', '3:3', /not indented/],
    ['a control character', 'a: \u0007', 'yaml-syntax', '1:4', /cannot be printed/],
    ['a null byte', 'a: b\0', 'yaml-syntax', '1:5', /cannot be printed/],
    ['too deep', `${'['.repeat(200)}${']'.repeat(200)}`, 'yaml-syntax', '1:100', /too deeply/],
  ])('such as %s is told of with its place', (_, text, code, where, message) => {
    const { documents, diagnostics } = read(text)
    expect(documents).toEqual([])
    expect(diagnostics).toHaveLength(1)
    const [found] = diagnostics
    expect(`${found?.place?.line}:${found?.place?.column}`).toBe(where)
    expect(found?.code).toBe(code)
    expect(found?.message).toMatch(message)
  })

  it('says to use spaces instead of a tab', () => {
    expect(read('a:\n\tb: 1').diagnostics).toMatchObject([{ hint: 'use spaces' }])
  })

  it('may have tabs where they are no indentation, as JSON often has', () => {
    const { documents, diagnostics } = read('{\n\t"a": [\n\t\t1\n\t]\n}\t# end\n')
    expect(diagnostics).toEqual([])
    expect(documents.map(toJson)).toEqual([{ a: [1] }])
  })
})
