/** An answer that was changed anywhere on its way is refused, or says what it said. */
import { describe, expect, it } from 'vitest'
import { UpstreamRefused } from '#server/broker/protocol.ts'
import { readResponse } from '#server/broker/protocols/saml/response/read-response.ts'
import type { ResponseRules } from '#server/broker/protocols/saml/response/rules.ts'
import {
  answer,
  assertion,
  encrypted,
  response,
  rules,
  signedAssertion,
  signedResponse,
} from './answers.ts'

/** What an answer says; nothing where it is refused. Every other error fails the test. */
const read = (xml: string, changes: Partial<ResponseRules>): string | undefined => {
  try {
    const { assertion: _, attributes, nameIds, ...said } = readResponse(xml, rules(changes))
    return JSON.stringify([said, [...attributes], [...nameIds]])
  } catch (error) {
    if (error instanceof UpstreamRefused) return undefined
    throw error
  }
}

/** Where every element begins and ends. */
const elementsIn = (xml: string): readonly (readonly [number, number])[] => {
  const found: [number, number][] = []
  const open: number[] = []
  for (const { 0: tag, 1: slash, index } of xml.matchAll(/<(\/?)[^>]*>/g)) {
    const end = index + tag.length
    if (slash) found.push([open.pop() ?? 0, end])
    else if (tag.endsWith('/>')) found.push([index, end])
    else open.push(index)
  }
  return found
}

/** Each character replaced, added and left out; those of long values, one of many. */
function* characters(xml: string): Generator<string> {
  for (let at = 0; at < xml.length; at += /^[\w+/]{40}/.test(xml.slice(at)) ? 97 : 29) {
    const [before, after] = [xml.slice(0, at), xml.slice(at + 1)]
    const flipped = String.fromCharCode(xml.charCodeAt(at) ^ 1)
    for (const one of [flipped, ' ', '&#x41;', `<!---->${xml[at]}`, '']) yield before + one + after
  }
}

/** Each element left out, and moved and doubled to some places. */
function* elements(xml: string): Generator<string> {
  const starts = [...xml.matchAll(/</g)].map(({ index }) => index)
  for (const [place, [from, to]] of elementsIn(xml).entries()) {
    const part = xml.slice(from, to)
    yield xml.slice(0, from) + xml.slice(to)
    for (const at of starts.filter((_, index) => index % 16 === place % 16)) {
      yield xml.slice(0, at) + part + xml.slice(at)
      if (at <= from) yield xml.slice(0, at) + part + xml.slice(at, from) + xml.slice(to)
      if (at >= to) yield xml.slice(0, from) + xml.slice(to, at) + part + xml.slice(at)
    }
  }
}

describe.each([
  ['a signed Assertion', async () => answer(), {}],
  ['a signed Response', async () => signedResponse(assertion()), { wantAssertionsSigned: false }],
  ['both signed', async () => signedResponse(signedAssertion()), { wantResponseSigned: true }],
  ['an encrypted Assertion', async () => response(await encrypted(signedAssertion())), {}],
] as const)('an answer with %s', (_what, make, changes) => {
  it.each([
    ['characters', characters],
    ['elements', elements],
  ])('that was changed in its %s is refused, or says the same', async (_part, changed) => {
    const xml = await make()
    const honest = read(xml, changes)
    expect(honest).toContain('alice-1')
    let refused = 0
    for (const one of changed(xml)) {
      const said = read(one, changes)
      if (said === undefined) refused += 1
      else if (said !== honest) expect(one).toBe(xml)
    }
    expect(refused).toBeGreaterThan(30)
  })
})
