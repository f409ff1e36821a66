/** Every mutation of a signed document is refused, or leaves the signed content unchanged. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalize } from '#server/xml/canonicalize.ts'
import { toElement } from '#server/xml/element.ts'
import {
  element,
  readSigned,
  signElement,
  writeElement,
  XmlRefused,
  xmlName,
} from '#server/xml/index.ts'
import { parse } from '#server/xml/parse.ts'
import { documents, templates } from './generated.ts'
import { sender } from './keys.ts'

const expected = { root: xmlName('saml:Assertion'), keys: [sender.publicKey] }

const signedBy = async (content: readonly Parameters<typeof writeElement>[0][]) => {
  const assertion = element('saml:Assertion', { ID: '_1' }, [
    element('saml:Issuer', {}, 'https://idp.example'),
    element('saml:Subject', {}, [element('saml:NameID', {}, 'alice')]),
    ...content,
  ])
  return writeElement(await signElement(assertion, sender.signing))
}

/** What comes out of it; nothing when it is refused. */
const readOut = (xml: string): string | undefined => {
  try {
    return JSON.stringify(readSigned(xml, expected).element)
  } catch (error) {
    if (error instanceof XmlRefused) return undefined
    throw error
  }
}

type Change = (xml: string, at: number, other: number, character: string) => string

const spans = (xml: string): number[] => [...xml.matchAll(/</g)].map(({ index }) => index)

const changes: Readonly<Record<string, Change>> = {
  'one character replaced': (xml, at, _other, character) =>
    xml.slice(0, at % xml.length) + character + xml.slice((at % xml.length) + 1),
  'one character added': (xml, at, _other, character) =>
    xml.slice(0, at % xml.length) + character + xml.slice(at % xml.length),
  'one character left out': (xml, at) =>
    xml.slice(0, at % xml.length) + xml.slice((at % xml.length) + 1),
  'a stretch between two tags left out': (xml, at, other) => {
    const tags = spans(xml)
    const [from = 0, to = 0] = [tags[at % tags.length] ?? 0, tags[other % tags.length] ?? 0].sort(
      (a, b) => a - b,
    )
    return xml.slice(0, from) + xml.slice(to)
  },
  'a stretch between two tags doubled': (xml, at, other) => {
    const tags = spans(xml)
    const [from = 0, to = 0] = [tags[at % tags.length] ?? 0, tags[other % tags.length] ?? 0].sort(
      (a, b) => a - b,
    )
    return xml.slice(0, to) + xml.slice(from, to) + xml.slice(to)
  },
  'an element doubled, moved or left out': (xml, at, other) => {
    const elements = [...xml.matchAll(/<([\w:]+)[^<>]*>[^<>]*<\/\1>/g)]
    const chosen = elements[at % elements.length]
    if (chosen === undefined) return xml
    const tags = spans(xml)
    const to = tags[other % tags.length] ?? 0
    const without = xml.slice(0, chosen.index) + xml.slice(chosen.index + chosen[0].length)
    if (other % 3 === 0) return without
    return (
      (other % 3 === 1 ? xml : without).slice(0, to) +
      chosen[0] +
      (other % 3 === 1 ? xml : without).slice(to)
    )
  },
}

describe('a signed document', () => {
  it.each(Object.keys(changes))('with %s', async (name) => {
    const change = changes[name] ?? expect.unreachable()
    let refused = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(templates, { maxLength: 2 }),
        fc.array(
          fc.tuple(
            fc.nat(),
            fc.nat(),
            fc.constantFrom('x', '<', '>', '"', '&', ' ', '/', ':', '=', 'A'),
          ),
          { minLength: 10, maxLength: 10 },
        ),
        async (content, tries) => {
          const xml = await signedBy(content)
          const honest = readOut(xml)
          expect(honest).toBeDefined()
          for (const [at, other, character] of tries) {
            const read = readOut(change(xml, at, other, character))
            if (read === undefined) refused += 1
            else expect(read).toBe(honest)
          }
        },
      ),
      { numRuns: 60 },
    )
    expect(refused).toBeGreaterThan(100)
  })
})

describe('a document of other software', () => {
  it('reads the same again from its canonical form (GHSA-m9hp-7r99-94h5)', () => {
    fc.assert(
      fc.property(documents, (xml) => {
        const node = parse(xml, 1_000_000)
        const canonical = canonicalize(node, { limit: 1_000_000 })
        const again = parse(canonical, 1_000_000)
        expect(toElement(again)).toEqual(toElement(node))
        expect(canonicalize(again, { limit: 1_000_000 })).toBe(canonical)
      }),
      { numRuns: 300 },
    )
  })
})
