/**
 * Requests that combine prompt, max_age, acr_values, claims and id_token_hint by chance, sent as a query, a form or a pushed request, to
 * browsers with and without a session: what the user is asked, and what the client is answered, follows from OIDC Core §3.1.2.1, §3.1.2.6
 * and §5.5.1.1, whatever stands beside it.
 */

import fc from 'fast-check'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { anyBackend } from '../../support/backends.ts'
import { amount } from '../../support/run/chance.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  exchange,
  newPerson,
  type Page,
  type Person,
  password,
  redirectUri,
} from '../relying-party.ts'

type Name = 'alice' | 'bob'

/** A session, by its user, its level and its age in seconds. */
const sessions = fc.option(
  fc.record({
    username: fc.constantFrom<Name>('alice', 'bob'),
    level: fc.constantFrom('1', '2'),
    age: fc.constantFrom(10, 120),
  }),
  { freq: 4, nil: undefined },
)
const optional = <T>(...values: readonly T[]) =>
  fc.option(fc.constantFrom(...values), { freq: 1, nil: undefined })
const requests = fc.record({
  session: sessions,
  prompt: fc.oneof<fc.Arbitrary<readonly string[]>[]>(
    fc.constant<readonly string[]>([]),
    fc.constant(['none']),
    fc.subarray(['login', 'consent', 'select_account'], { minLength: 1 }),
  ),
  maxAge: optional(0, 60, 10_000),
  acrValues: optional(['1'], ['2'], ['1', '2'], ['2', '1'], ['gold'], ['gold', '2']),
  essential: optional(['1'], ['2'], ['1', '2'], ['2', '1'], ['gold'], ['gold', '2']),
  hint: optional<Name>('alice', 'bob'),
  sub: optional<Name>('alice', 'bob'),
  asksConsent: fc.boolean(),
  by: fc.constantFrom('query', 'form', 'push'),
})
type Asked = typeof requests extends fc.Arbitrary<infer T> ? T : never

const levels = ['1', '2']
const isEnough = (level: string, wanted: string) => level >= wanted

/** What the session lacks, before anything is asked. */
const lacks = (
  asked: Asked,
): { readonly sub: boolean; readonly age: boolean; readonly level: boolean } => {
  const { session, prompt, maxAge = Number.POSITIVE_INFINITY, acrValues = [], essential } = asked
  const expected = asked.hint ?? asked.sub
  const wanted = (essential ?? acrValues).filter((one) => levels.includes(one))
  const enough = prompt.includes('none') ? wanted : wanted.slice(0, 1)
  return {
    sub: expected !== undefined && session !== undefined && session.username !== expected,
    age: prompt.includes('login') || maxAge === 0 || (session?.age ?? 0) > maxAge,
    level: enough.length > 0 && !enough.some((one) => isEnough(session?.level ?? '0', one)),
  }
}

/** The error that follows from the request alone. */
const errorOf = ({ hint, sub, essential }: Asked): string | undefined => {
  if (hint !== undefined && sub !== undefined && hint !== sub) return 'invalid_request'
  if (essential && !essential.some((one) => levels.includes(one)))
    return 'unmet_authentication_requirements'
  return undefined
}

describe.each(anyBackend)('requests that combine what a user is asked, on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let clients: Record<'plain' | 'careful', TestClient>
  const ids: Record<string, string> = {}
  const hints: Record<string, string> = {}
  const codes: Record<string, () => string> = {}

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    const doc = { grantTypes: ['authorization_code' as const], redirectUris: [redirectUri] }
    clients = {
      plain: await site.client({ clientId: 'plain', ...doc }),
      careful: await site.client({ clientId: 'careful', consentRequired: true, ...doc }),
    }
    const put = (alias: string, topLevel: boolean, steps: readonly object[]) =>
      site.admin('PUT', `/flows/${alias}`, {
        alias,
        topLevel,
        authenticationExecutions: steps.map((step) => ({ requirement: 'REQUIRED', ...step })),
      })
    await put('browser', true, [{ authenticator: 'username-password' }])
    await put('browser-second-factor', false, [
      { authenticator: 'condition-acr', authenticatorConfig: { acr: '2' } },
      { authenticator: 'totp' },
    ])
    await put('browser', true, [
      { authenticator: 'username-password' },
      { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
    ])
    for (const username of ['alice', 'bob']) {
      ids[username] = await addPerson(site, username)
      const { body } = await site.admin('POST', `/users/${ids[username]}/credentials`, {
        type: 'otp',
      })
      const totp = new TOTP({ secret: Secret.fromBase32(body.secret) })
      codes[username] = () => totp.generate({ timestamp: now })
    }
  }, 60_000)
  afterAll(() => site.close())

  /** Fills the forms that come, as this user, and tells which ones did. */
  const goThrough = async (person: Person, first: Page, username: string) => {
    const shown: string[] = []
    let page = first
    while (page.away === undefined && shown.length < 8) {
      if (page.body.includes('name="password"')) {
        shown.push('password')
        page = await person.submit(page, { username, password })
      } else if (page.body.includes('name="code"')) {
        shown.push('code')
        // A code is good once.
        now += 30_000
        page = await person.submit(page, { code: codes[username]?.() ?? '' })
      } else if (page.body.includes('value="continue"')) {
        shown.push('account')
        page = await person.submit(page, { decision: 'continue' })
      } else if (page.body.includes('value="allow"')) {
        shown.push('consent')
        page = await person.submit(page, { decision: 'allow' })
      } else
        throw new Error(`${page.url} ${page.status} ${page.body.replaceAll(/<[^>]*>|\s+/g, ' ')}`)
    }
    return { shown, answer: Object.fromEntries(new URL(page.away ?? '').searchParams) }
  }

  const withdraw = async (username: string): Promise<void> => {
    const { consents } = site.server.areas.oidc
    const id = ids[username] ?? ''
    const given = await consents.list('acme', id)
    if (given.some(({ clientId }) => clientId === 'careful'))
      await site.server.areas.storage.commit(consents.revoke('acme', id, clients.careful.id))
  }

  const openIn = async (person: Person, asked: Asked, client: TestClient): Promise<Page> => {
    const { prompt, maxAge, acrValues, essential, hint, sub, by } = asked
    const claims = {
      id_token: {
        ...(essential ? { acr: { essential: true, values: essential } } : {}),
        ...(sub === undefined ? {} : { sub: { value: ids[sub] } }),
      },
    }
    const url = authorizeUrl(site, client, {
      prompt: prompt.join(' ') || undefined,
      max_age: maxAge === undefined ? undefined : String(maxAge),
      acr_values: acrValues?.join(' '),
      id_token_hint: hint && hints[`${client.clientId} ${hint}`],
      claims: essential || sub !== undefined ? JSON.stringify(claims) : undefined,
    })
    if (by === 'query') return person.open(url)
    const fields = Object.fromEntries(new URL(url).searchParams)
    if (by === 'form') return person.open(`${site.issuer}/authorize`, fields)
    const { status, body } = await site.post('/par', { ...fields, client_secret: client.secret })
    if (status !== 201)
      return {
        url,
        status,
        headers: new Headers(),
        body: '',
        away: `${redirectUri}?${new URLSearchParams(body)}`,
      }
    const named = { client_id: client.clientId, request_uri: body.request_uri }
    return person.open(`${site.issuer}/authorize?${new URLSearchParams(named)}`)
  }

  it('ask for what is missing and nothing else, and are answered with what was asked for', async () => {
    for (const client of Object.values(clients))
      for (const username of ['alice', 'bob']) {
        const person = newPerson(site)
        const { answer } = await goThrough(
          person,
          await person.open(authorizeUrl(site, client)),
          username,
        )
        hints[`${client.clientId} ${username}`] = (
          await exchange(site, client, answer['code'] ?? '')
        ).body.id_token
        await withdraw(username)
      }
    await fc.assert(
      fc.asyncProperty(requests, async (asked) => {
        const { session, prompt, asksConsent, maxAge, acrValues = [], essential } = asked
        const client = asksConsent ? clients.careful : clients.plain
        const username = session?.username ?? 'alice'
        await withdraw(username)
        now += 60_000
        const person = newPerson(site)
        if (session) {
          const start = authorizeUrl(site, clients.plain, { acr_values: session.level })
          await goThrough(person, await person.open(start), username)
          now += session.age * 1000
        }
        const began = now
        const lack = lacks(asked)
        const needsSignIn = session === undefined || lack.sub || lack.age
        const isSilent = prompt.includes('none')
        const { shown, answer } = await goThrough(
          person,
          await openIn(person, asked, client),
          username,
        )
        const error = errorOf(asked)
        if (error !== undefined) {
          expect([shown, answer['error']]).toEqual([[], error])
          return
        }
        if (isSilent) {
          expect(shown).toEqual([])
          const expected =
            needsSignIn || lack.level
              ? 'login_required'
              : asksConsent
                ? 'consent_required'
                : undefined
          expect(answer['error']).toBe(expected)
          if (expected !== undefined) return
        } else {
          const isOther = (asked.hint ?? asked.sub ?? username) !== username
          const isStepUp = !needsSignIn && lack.level
          const needed = [
            ...(needsSignIn ? ['password'] : []),
            ...(isStepUp ||
            (needsSignIn && (essential ?? acrValues).find((one) => levels.includes(one)) === '2')
              ? ['code']
              : []),
            ...(prompt.includes('select_account') && !needsSignIn && !isStepUp ? ['account'] : []),
            ...(asksConsent || prompt.includes('consent') ? ['consent'] : []),
          ]
          if (isOther) {
            expect(answer['error']).toBe('login_required')
            expect(shown).not.toContain('consent')
            return
          }
          expect(shown).toEqual(needed)
        }
        expect(answer).toMatchObject({
          code: expect.any(String),
          state: 'a state',
          iss: site.issuer,
        })
        const claims = claimsOf((await exchange(site, client, answer['code'] ?? '')).body.id_token)
        expect(claims['sub']).toBe(ids[username])
        const authTime = Number(claims['auth_time']) * 1000 + 999
        if (prompt.includes('login')) expect(authTime).toBeGreaterThanOrEqual(began)
        if (maxAge !== undefined) expect(authTime).toBeGreaterThanOrEqual(began - maxAge * 1000)
        if (essential) expect(essential).toContain(claims['acr'])
        const preferred = (essential ?? acrValues).find((one) => levels.includes(one))
        if (!isSilent && preferred !== undefined)
          expect(String(claims['acr']) >= preferred).toBe(true)
      }),
      { numRuns: amount(40, 150, 600) },
    )
  })
})
