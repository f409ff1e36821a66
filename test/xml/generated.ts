/** Elements by chance: every prefix, awkward values, deep and wide. */
import fc from 'fast-check'
import { element, namespaces, type QualifiedName, type Template } from '#server/xml/index.ts'

const prefixes = Object.keys(namespaces)
const locals = ['a', 'b', 'Z', '_x', 'é', 'x-1']

const names = fc
  .tuple(fc.constantFrom(...prefixes), fc.constantFrom(...locals))
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

const templatesWith = (values: fc.Arbitrary<string>): fc.Arbitrary<Template> => {
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

/** Elements with whatever XML can carry. */
export const templates = templatesWith(valuesWith([...awkward, ...otherLineEnds]))

/** Elements that xml-crypto reads as they are. */
export const plainTemplates = templatesWith(valuesWith(awkward))
