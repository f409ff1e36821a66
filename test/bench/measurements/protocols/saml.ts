/**
 * The rate of signed assertions, against raw RSA-2048 signatures of the same process: with one signature (the assertion)
 * and two (assertion and response). Also the cost of an XML bomb until it is refused.
 */

import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { createSigner, type Signer } from '#server/keys/signer.ts'
import {
  element,
  MESSAGE_LIMIT,
  readDeflated,
  type SigningKey,
  signElement,
  type Template,
  writeElement,
  XmlRefused,
} from '#server/xml/index.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { median, medianRatio, timed } from '../../statistics.ts'

const ROUNDS = 7
const COUNT = 1500
/** As many sign-ins are under way at once. */
const AT_ONCE = 64

const instant = '2026-11-17T07:00:00Z'
const attribute = (name: string, value: string): Template =>
  element(
    'saml:Attribute',
    { Name: name, NameFormat: 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic' },
    [element('saml:AttributeValue', {}, value)],
  )

/** An assertion as a service provider gets it, with ten attributes. */
const assertion = (): Template =>
  element('saml:Assertion', { ID: `_${randomUUID()}`, Version: '2.0', IssueInstant: instant }, [
    element('saml:Issuer', {}, 'https://id.example/realms/acme'),
    element('saml:Subject', {}, [
      element(
        'saml:NameID',
        { Format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' },
        randomUUID(),
      ),
      element('saml:SubjectConfirmation', { Method: 'urn:oasis:names:tc:SAML:2.0:cm:bearer' }, [
        element('saml:SubjectConfirmationData', {
          InResponseTo: `_${randomUUID()}`,
          NotOnOrAfter: instant,
          Recipient: 'https://sp.example/acs',
        }),
      ]),
    ]),
    element('saml:Conditions', { NotBefore: instant, NotOnOrAfter: instant }, [
      element('saml:AudienceRestriction', {}, [
        element('saml:Audience', {}, 'https://sp.example/metadata'),
      ]),
    ]),
    element('saml:AuthnStatement', { AuthnInstant: instant, SessionIndex: `_${randomUUID()}` }, [
      element('saml:AuthnContext', {}, [
        element(
          'saml:AuthnContextClassRef',
          {},
          'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
        ),
      ]),
    ]),
    element(
      'saml:AttributeStatement',
      {},
      Array.from({ length: 10 }, (_, index) => attribute(`attribute-${index}`, randomUUID())),
    ),
  ])

const response = (inside: Template): Template =>
  element('samlp:Response', { ID: `_${randomUUID()}`, Version: '2.0', IssueInstant: instant }, [
    element('saml:Issuer', {}, 'https://id.example/realms/acme'),
    element('samlp:Status', {}, [
      element('samlp:StatusCode', { Value: 'urn:oasis:names:tc:SAML:2.0:status:Success' }),
    ]),
    inside,
  ])

/** How many in a second, with so many under way. */
const rate = async (work: () => Promise<unknown>): Promise<number> => {
  let left = COUNT
  const { ms } = await timed(() =>
    Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (left > 0) {
          left -= 1
          await work()
        }
      }),
    ),
  )
  return (COUNT * 1000) / ms
}

const ways = (privateKey: KeyObject, key: SigningKey, signer: Signer) => {
  const data = 'x'.repeat(700)
  return {
    'raw RSA-2048, thread pool': () =>
      new Promise<void>((resolve, reject) => {
        sign('sha256', Buffer.from(data), privateKey, (error) =>
          error === null ? resolve() : reject(error),
        )
      }),
    'raw RSA-2048, signer threads': () =>
      signer.sign({ key: privateKey, algorithm: 'RS256', data }),
    'signed assertion in a response': async () =>
      writeElement(response(await signElement(assertion(), key))),
    'signed assertion in a signed response': async () =>
      writeElement(await signElement(response(await signElement(assertion(), key)), key)),
  }
}

/** 300 MB behind as much DEFLATE as passes the first bound, and behind all of it. */
const bombs = (): Row[] => {
  const whole = deflateRawSync(Buffer.alloc(300_000_000), { level: 9 })
  return [whole, whole.subarray(0, MESSAGE_LIMIT)].map((bytes) => {
    const encoded = bytes.toString('base64')
    const before = process.memoryUsage()
    const start = performance.now()
    try {
      readDeflated(encoded, MESSAGE_LIMIT)
      throw new Error('the bomb was not refused')
    } catch (error) {
      if (!(error instanceof XmlRefused)) throw error
    }
    const ms = performance.now() - start
    const after = process.memoryUsage()
    const grown = after.rss - before.rss
    return { what: `bomb of ${bytes.length} bytes`, 'ms until refused': ms, 'MB more': grown / 1e6 }
  })
}

export const measureSaml: Measurement = async ({ progress }) => {
  const signer = createSigner()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key: SigningKey = {
    certificate: 'A'.repeat(1000),
    sign: (algorithm, data) => signer.sign({ key: privateKey, algorithm, data }),
  }
  const all = Object.entries(ways(privateKey, key, signer)).map(([what, work]) => ({
    what,
    work,
    rates: [] as number[],
  }))
  try {
    // The first round only warms up.
    for (let round = 0; round <= ROUNDS; round += 1) {
      progress(`round ${round} of ${ROUNDS}`)
      for (const { work, rates } of all) {
        const perSecond = await rate(work)
        if (round > 0) rates.push(perSecond)
      }
    }
  } finally {
    await signer.close()
  }
  const [pool, threads] = [all[0]?.rates ?? [], all[1]?.rates ?? []]
  const raw = median(pool) >= median(threads) ? pool : threads
  return {
    title: 'signed assertions',
    notes: [
      `medians of ${ROUNDS} rounds of ${COUNT}, ${AT_ONCE} at once; the ratio is to the faster of the two raw ways, round by round`,
      'goals: one signature 0.75, both 0.35; a bomb under 50 ms and 5 MB',
    ],
    rows: [
      ...all.map(({ what, rates }) => ({
        what,
        'per second': median(rates),
        '× raw': medianRatio(rates, raw),
      })),
      ...bombs(),
    ],
  }
}
