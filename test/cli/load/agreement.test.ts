/** Unusual but valid documents have the same values as in a second, independent YAML library. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { readDocuments } from '#cli/load/yaml/nodes.ts'
import { createSource } from '#cli/load/yaml/source.ts'
import { eachScalar, toJson } from '#cli/load/yaml/tree.ts'

const corpus: Readonly<Record<string, string>> = {
  'nested flow in block': 'a: {b: [1, {c: d}, [e]], f: }\ng: [x: 1, y]\n',
  'a list at the indentation of its key': 'a:\n- b\n- c:\n  - d\n  e: f\ng: h\n',
  'compact nested lists': '- - a\n  - b\n-\n  - c\n- - - d\n',
  'plain text over lines': 'a: one\n  two\n\n  three\nb: x # c\n',
  'plain text with signs': 'a: b#c\nd: e:f\ng: -h\ni: ?j\nk: :l\nm: a,b]c}\n',
  'urls and times': 'u: https://a.example/x?y=z#f\nt: 12:30\nd: 2026-01-02T03:04:05Z\n',
  'double quotes over lines':
    'a: "one\n  two\\\n  three\n\n  four"\nb: "\\x41\\u00e9\\U0001F600\\/"\n',
  'single quotes over lines': "a: 'it''s\n  two\n\n  three'\n",
  'quotes with trailing spaces': 'a: "x  \n  y"\nb: \'x  \n  y\'\n',
  'literal text': 'a: |\n  one\n    two\n\n  three\n\nb: 1\n',
  'literal text, stripped and kept': 'a: |-\n  x\n\nb: |+\n  y\n\nc: z\n',
  'literal text with an indentation': 'a: |2\n    x\n   y\nb: 1\n',
  'literal text that is empty': 'a: |\nb: |+\n\nc: >-\n',
  'folded text': 'a: >\n  one\n  two\n\n  three\n    more\n    indented\n  four\nb: 1\n',
  'folded text, stripped and kept': 'a: >-\n  x\n  y\n\nb: >+\n  z\n\n',
  'text with hashes in blocks': 'a: |\n  # no comment\n  x # neither\nb: >\n  # no\n',
  'text with a tab in blocks': 'a: |\n  x\ty\n  \tz\nb: 1\n',
  'text with document markers': 'a: |\n  ---\n  ...\nb: "--- x"\n',
  numbers: 'a: [0, -0.0, 1e3, 1E-2, .5, 5., +7, 0x1f, 0o17, 007, 1.0]\n',
  'no numbers': 'a: [1_000, 0b1, 1.2.3, 1e, +, ., 0x, 0xg, 1., e3, --1, 12e03x]\n',
  'words that are booleans elsewhere': 'a: [yes, no, on, off, y, n, Yes, NO, true, TRUE, tRue]\n',
  'words that are nothing': 'a: [~, null, Null, NULL, nULL, "", none]\nb:\nc: ~\n',
  'keys with signs': '"a: b": 1\n\'c # d\': 2\ne f: 3\ng-h: 4\n"": 5\n$i: 6\n',
  'keys with no value': '{a, b: , c: 1}\n',
  'explicit keys': '? a\n: 1\n? b\n? c\n: - x\n  - y\n',
  'anchors and aliases': 'a: &x 1\nb: &y [*x, {c: *x}]\nd: *y\n',
  'anchors on empty values': 'a: &x\nb: *x\nc: [*x]\n',
  'an anchor that is set again': 'a: &x 1\nb: *x\nc: &x 2\nd: *x\n',
  'merge keys': 'a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [*a, {x: 9, z: 8}], z: 7}\n',
  'merge of a merge': 'a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\n',
  tags: 'a: !!str 1\nb: !!int "2"\nc: !!float 3.5\nd: !!bool "true"\ne: !!seq [x]\nf: !!map {g: h}\n',
  'comments everywhere':
    '# 1\na: # 2\n  # 3\n  - b # 4\n  # 5\n  -  # 6\n    c: d # 7\n# 8\n\n#9\ne: f\n',
  'comments in flow': 'a: [ # 1\n  b, # 2\n  # 3\n  c # 4\n] # 5\n',
  'several documents': '# c\n---\na: 1\n...\n# d\n---\n- b\n---\n"c"\n',
  'a directive': '%YAML 1.2\n---\na: 1\n',
  'windows line ends': 'a: 1\r\nb: |\r\n  x\r\n  y\r\nc: "p\r\n  q"\r\nd:\r\n  - e\r\n',
  'empty lines in quotes': 'a: "x\n\n\n  y"\nb: \'p\n\n q\'\n',
  'closing brackets below their key':
    'a: [\n  b, # c ]\n  {\n    d: e\n  }\n]\nf: {\n  g: "\n  ]",\n}\nh:\n  i: |\n    [\n    ]\n  j: [\n    k\n  ]\n',
  'a byte order mark': '\ufeffa: ä\nb: 日本\n',
  'text outside of the basic plane': 'a: 😀\n"🎉": "🎉 x"\nb: [🇨🇭]\n',
  json: '{\n\t"a": [1, 2.5e3, true, null, "x\\ny\\u0041\\/"],\n\t"b": {"c": {}},\n\t"d": []\n}\n',
  'json without spaces': '{"a":1,"b":[{"c":"d"}],"e":"f:g"}',
  'a url as flow key value': '{a: https://x.example/y, b: "z"}\n',
  'deep indentation and back': 'a:\n      b:\n          c: 1\n      d: 2\ne: 3\n',
  'names of what every object has': 'constructor: 1\ntoString: {hasOwnProperty: 2}\nlength: 3\n',
  'trailing spaces': 'a:   1   \nb:  \n  c:  x  \n',
  'no line break at the end': 'a:\n  - b',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
  'text that looks like references': 'a: ${var:X}\nb: "${env:Y} $${z}"\nc: $argon2id$v=19$m=1\n',
  'indicators inside of words': 'a: x&y\nb: x*y\nc: x!y\nd: x|y\ne: x>y\nf: x%y\ng: x@y\nh: "@z"\n',
  'a star in quotes': 'a: "*"\nb: ["*", \'&\']\n',
}

const theirs = (text: string): unknown[] =>
  [parseAllDocuments(text, { merge: true })]
    .flat()
    .filter((document) => document.contents !== null)
    .map((document) => {
      expect(document.errors).toEqual([])
      return document.toJS()
    })

describe('our values and those of the yaml package agree on', () => {
  it.each(Object.entries(corpus))('%s', (_, text) => {
    const { documents, diagnostics } = readDocuments(createSource('a.yaml', text))
    expect(diagnostics).toEqual([])
    expect(documents.map(toJson)).toEqual(theirs(text))
  })
})

const json = fc.letrec((tie) => ({
  scalar: fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.stringMatching(/^[-+.0-9a-z:#&*!|>%@`"'\\ \n${}[\],?]{0,12}$/),
    fc.constantFrom('null', 'true', '~', '1e3', '<<', 'yes', '', ' ', '---', '- a', 'a: b', '# c'),
    fc.maxSafeInteger().map((number) => number + 0),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map((n) => n + 0),
    fc.boolean(),
    fc.constant(null),
  ),
  map: fc.dictionary(
    fc.string({ unit: 'grapheme', maxLength: 8 }).filter((key) => key !== '__proto__'),
    tie('value'),
    { maxKeys: 4, noNullPrototype: true },
  ),
  value: fc.oneof(
    { depthSize: 'small' },
    tie('scalar'),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('map'),
  ),
}))

const styles = [
  {},
  // Unquoted text of several lines is written wrongly there: `{ a: b:\n\n c }`.
  { collectionStyle: 'flow', defaultStringType: 'QUOTE_DOUBLE' },
  { collectionStyle: 'flow', defaultStringType: 'QUOTE_SINGLE', lineWidth: 30 },
  { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' },
  { defaultStringType: 'QUOTE_SINGLE', indentSeq: false },
  { blockQuote: 'literal', lineWidth: 20 },
  { blockQuote: 'folded', lineWidth: 20, indent: 4 },
] as const

describe('whatever the yaml package writes', () => {
  it('is read as it reads it itself, and the text at the place of a value is that value', () => {
    fc.assert(
      fc.property(json.map, fc.constantFrom(...styles), (value, style) => {
        const text = stringify(value, style)
        const { documents, diagnostics } = readDocuments(createSource('a.yaml', text))
        expect(diagnostics).toEqual([])
        expect(documents.map(toJson)).toEqual(theirs(text))
        for (const document of documents)
          eachScalar(document, ({ start, end, value: scalar }) => {
            const written = text.slice(start, end)
            if (/[\n\r]/.test(written)) return
            const [again] = readDocuments(createSource('b.yaml', `- ${written}`)).documents.map(
              toJson,
            )
            expect(again).toEqual([scalar])
          })
      }),
      { numRuns: 300 },
    )
  })

  it('as JSON is read as what it was', () => {
    fc.assert(
      fc.property(json.map, fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        const { documents, diagnostics } = readDocuments(createSource('a.json', text))
        expect(diagnostics).toEqual([])
        expect(documents.map(toJson)).toEqual([JSON.parse(text)])
      }),
      { numRuns: 300 },
    )
  })
})
