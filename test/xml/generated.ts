/** Generated elements: every prefix, unusual values, deep and wide. */
import fc from 'fast-check'
import { element, namespaces, type QualifiedName, type Template } from '#server/xml/index.ts'

const prefixes = Object.keys(namespaces)
/** Without one whose namespace begins with another: xml-crypto compares namespace and name in one piece (C14N 1.0 §2.2 does not). */
const apart = prefixes.filter((prefix) => prefix !== 'aslo')
const locals = ['a', 'b', 'Z', '_x', 'é', 'x-1']

const namesWith = (chosen: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...chosen), fc.constantFrom(...locals))
    .map(([prefix, local]) => `${prefix}:${local}` as QualifiedName)

const awkward = ['&', '<', '>', '"', "'", '\t', '\n', '\r', ']]>', '<!--', ' ', 'é', '😀', '&#xD;']

/** Characters that only XML 1.1 takes for ends of lines; the parser of xml-crypto does so in every document. */
const otherLineEnds = ['\u0085', '\u2028']

const valuesWith = (parts: readonly string[]) =>
  fc
    .array(fc.oneof(fc.constantFrom(...parts), fc.string({ unit: 'grapheme', maxLength: 5 })), {
      maxLength: 6,
    })
    .map((chosen) => chosen.join(''))

const templatesWith = (
  values: fc.Arbitrary<string>,
  names: fc.Arbitrary<QualifiedName>,
): fc.Arbitrary<Template> => {
  const attributes = fc.dictionary(
    fc.oneof(fc.constantFrom('Name', 'Format', 'a', 'b', 'Z'), names),
    values,
    { maxKeys: 4 },
  )
  return fc.letrec<{ template: Template }>((tie) => ({
    template: fc
      .tuple(
        names,
        attributes,
        fc.oneof({ depthSize: 'small' }, values, fc.array(tie('template'), { maxLength: 3 })),
      )
      .map(([name, given, content]) => element(name, given, content)),
  })).template
}

/** Elements with every character that XML allows. */
export const templates = templatesWith(
  valuesWith([...awkward, ...otherLineEnds]),
  namesWith(prefixes),
)

/** Elements that xml-crypto reads as they are. */
export const plainTemplates = templatesWith(valuesWith(awkward), namesWith(apart))

const uris = ['urn:one', 'urn:two', 'urn:Three']

/** Text as senders may write it: escaped, by number, or in CDATA. */
const rawText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '&amp;',
        '&lt;',
        '&#13;',
        '&#x1F600;',
        '\r\n',
        '\t',
        'x',
        'é',
        '\u2028',
        '"',
        '>',
      ),
      fc.constantFrom('<![CDATA[<&]]>', '<![CDATA[]]>'),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''))

const rawValue = fc
  .array(
    fc.constantFrom('&amp;', '&lt;', '&#10;', '&#9;', '\n', '\t', ' ', '&quot;', "'", '>', 'é'),
    {
      maxLength: 4,
    },
  )
  .map((parts) => parts.join(''))

const between = fc.constantFrom('', ' ', '\n', '<!-- - -->', ' <!--x--> ')

/** Declarations that bind the prefixes again, to the same or to another namespace. */
const declarations = fc
  .record(
    {
      xmlns: fc.constantFrom('', ...uris),
      'xmlns:p': fc.constantFrom(...uris),
      'xmlns:Q': fc.constantFrom(...uris),
    },
    { requiredKeys: [] },
  )
  .map((given) => Object.entries(given).map(([name, uri]) => ` ${name}="${uri}"`))

const rawAttributes = fc
  .dictionary(fc.constantFrom('x', 'y', 'xmlnsx', 'p:one', 'Q:two', 'xml:lang'), rawValue)
  .map((given) => Object.entries(given).map(([name, value]) => ` ${name}="${value}"`))

const rawElements: fc.Arbitrary<string> = fc.letrec<{ element: string }>((tie) => ({
  element: fc
    .tuple(
      fc.constantFrom('a', 'p:b', 'Q:c'),
      declarations,
      rawAttributes,
      fc.oneof(
        { depthSize: 'small' },
        rawText,
        fc
          .array(fc.tuple(between, tie('element')), { maxLength: 3 })
          .map((children) => children.flat().join('')),
      ),
    )
    .map(
      ([name, declared, given, content]) =>
        `<${name}${[...declared, ...given].join('')}>${content}</${name}>`,
    ),
})).element

/** Documents as other software may send them, with every prefix bound at the root. */
export const documents = rawElements.map(
  (inside) => `<p:root xmlns:p="urn:one" xmlns:Q="urn:two" ID="_1">${inside}</p:root>`,
)
