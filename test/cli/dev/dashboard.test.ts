/** The dashboard and the lines of dev: what happens becomes a state, and the state fits every terminal. */
import { stripVTControlCharacters } from 'node:util'
import { renderToString } from 'ink'
import { createElement } from 'react'
import { describe, expect, it } from 'vitest'
import type { Happening, Stamped } from '#cli/dev/happenings.ts'
import type { ApplyOutcome } from '#cli/dev/outcome.ts'
import { type Change, emptySummary, type Plan } from '#cli/planning/plan.ts'
import { Screen } from '#cli/views/human/dev/dashboard.tsx'
import { allot, cutTo, wrapped } from '#cli/views/human/dev/layout.ts'
import { headlineOf, outcomeLines } from '#cli/views/human/dev/lines.ts'
import { type DashboardState, initialState, nextState } from '#cli/views/human/dev/state.ts'

const at = new Date(2026, 0, 31, 12, 34, 56)
const url = 'http://127.0.0.1:8080'

const changeOf = (change: Partial<Change>): Change => ({
  action: 'create',
  kind: 'client',
  key: 'web',
  from: null,
  before: null,
  doc: null,
  ifHash: null,
  fields: [],
  secrets: [],
  protected: { before: false, after: false },
  adopts: false,
  takenFrom: null,
  cascades: [],
  place: null,
  lastChange: null,
  ...change,
})

const planOf = (changes: readonly Change[]): Plan => ({
  formatVersion: 1,
  version: '0',
  createdAt: at.toISOString(),
  server: url,
  guards: { maxDeletions: 20 },
  realms: [
    {
      realm: 'acme',
      baseRevision: 1,
      createRealm: false,
      source: 'estate',
      prune: 'owned',
      changes,
      unmanaged: [],
      unmanagedCount: 0,
      warnings: [],
      problems: [],
      impacts: [],
      summary: { ...emptySummary, add: changes.length },
    },
  ],
})

const outcomeOf = (outcome: Partial<ApplyOutcome>): ApplyOutcome => ({
  status: 'applied',
  diagnostics: [],
  plan: null,
  results: [],
  loaded: null,
  milliseconds: 120,
  message: null,
  ...outcome,
})

const synced = (outcome: Partial<ApplyOutcome>): Happening => ({
  type: 'synced',
  occasion: { why: 'start' },
  outcome: outcomeOf(outcome),
})

const eventOf = (type: string, category = 'AUTHN', more: object = {}): Happening => ({
  type: 'event',
  actorName: 'alice',
  event: {
    id: 'e',
    ts: at.toISOString(),
    category,
    type,
    realm: 'acme',
    actor: 'a',
    sourceIp: '127.0.0.1',
    resourceType: null,
    resourceId: null,
    outcome: 'SUCCESS',
    detail: null,
    ...more,
  },
})

const stateAfter = (...happenings: readonly Happening[]): DashboardState =>
  happenings.reduce(
    (state, happening) => nextState(state, { ...happening, at } as Stamped),
    initialState,
  )

const started: readonly Happening[] = [
  { type: 'starting', version: '1.2.3', data: '/tmp/x', kept: false },
  {
    type: 'server-ready',
    url,
    pid: 1,
    api: `${url}/admin/realms`,
    docs: `${url}/interactive-docs.html`,
    admin: { username: 'admin', password: 'admin-word', signIn: `${url}/realms/master/login` },
  },
  {
    type: 'realms',
    realms: [{ realm: 'acme', signIn: `${url}/realms/acme/login`, discovery: null }],
    users: [
      { realm: 'acme', username: 'alice', password: 'alice-word', from: null },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write in files
      { realm: 'acme', username: 'bob', password: null, from: '${env:BOB}' },
    ],
  },
  { type: 'ready', milliseconds: 1234, applied: true },
]

const screen = (state: DashboardState, columns = 80, rows = 23): string[] =>
  stripVTControlCharacters(
    renderToString(createElement(Screen, { state, columns, rows }), { columns }),
  ).split('\n')

const textOf = (outcome: Partial<ApplyOutcome>): string[] =>
  outcomeLines(outcomeOf(outcome)).map(({ text }) => text)

describe('the screen', () => {
  const many = Array.from({ length: 60 }, (_, i) => changeOf({ key: `client-${i}` }))

  it.each([80, 50])('shows the whole path of generated secrets, %d columns wide', (columns) => {
    const names = Array.from({ length: 9 }, (_, i) => `ACME_SOME_LONG_SECRET_${i}`)
    const file = '/var/folders/zz/iamctl-dev-JqPOeF/dev-secrets.json'
    const made: Happening = { type: 'secrets-made', names, file }
    const rows = screen(stateAfter(...started, made), columns, 30)
    expect(rows.map((row) => row.trim()).join('')).toContain(file)
  })

  it('keeps the path of generated secrets after an apply with much to tell', () => {
    const names = Array.from({ length: 9 }, (_, i) => `ACME_SOME_LONG_SECRET_${i}`)
    const file = '/tmp/iamctl-dev-JqPOeF/dev-secrets.json'
    const made: Happening = { type: 'secrets-made', names, file }
    const events = Array.from({ length: 30 }, (_, i) => eventOf(`LOGIN_${i}`))
    const state = stateAfter(...started, made, synced({ plan: planOf(many) }), ...events)
    for (const columns of [60, 80, 120])
      expect(screen(state, columns, 30).join('\n')).toContain(file)
  })

  it('shows passwords to their end on a narrow screen', () => {
    const password = 'eZJ9kn-GN55Eq-byBZ6d-cMcQVp-TThLih-rkwRbt'
    const users = [{ realm: 'acme', username: 'alice', password, from: null }]
    const realms: Happening = { type: 'realms', realms: [], users }
    const rows = screen(stateAfter(...started, realms), 44, 30)
    expect(rows.map((row) => row.trim()).join('')).toContain(password)
  })

  it('shows where to sign in and as whom, and no password that is none of its business', () => {
    const text = screen(stateAfter(...started, synced({ plan: planOf([]) }))).join('\n')
    for (const word of [`${url}/realms/acme/login`, 'alice-word', 'admin-word', '1.2.3'])
      expect(text).toContain(word)
    expect(text).toMatch(/bob +\(as \$\{env:BOB\} says\)/)
    expect(text).toContain('ready after 1.2 s')
  })

  it.each([
    [80, 23],
    [120, 50],
    [40, 12],
    [20, 6],
  ])('of %i columns and %i rows is never overfull', (columns, rows) => {
    const events = Array.from({ length: 30 }, (_, i) => eventOf(`LOGIN_${i}`))
    const lines = screen(
      stateAfter(...started, synced({ plan: planOf(many) }), ...events),
      columns,
      rows,
    )
    expect(lines.length).toBeLessThanOrEqual(rows)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
    expect(lines[0]).toContain('iamctl dev')
  })

  it('tells what it leaves out', () => {
    const lines = screen(stateAfter(...started, synced({ plan: planOf(many) })))
    const shown = lines.filter((line) => line.includes('+ client "client-')).length
    expect(shown).toBeGreaterThan(3)
    expect(lines.join('\n')).toContain(`… ${60 - shown} more`)
  })

  it('shows errors in full, with file and line', () => {
    const message = `client "web": ${'a very long explanation '.repeat(4)}and its end`
    const place = { file: 'acme/clients.yaml', line: 3, column: 5, endColumn: 9 }
    const loaded = {
      realms: [],
      diagnostics: [],
      textOf: () => 'realm: acme\nclients:\n  - nmae: x\n',
    }
    const state = stateAfter(
      ...started,
      synced({
        status: 'invalid',
        loaded,
        diagnostics: [{ severity: 'error', code: 'unknown-field', message, place, hint: 'name?' }],
      }),
    )
    const text = screen(state).join('\n')
    expect(text).toContain('acme/clients.yaml:3:5: error unknown-field')
    expect(text).toContain('and its end')
    expect(text).toContain('hint: name?')
    expect(text).toMatch(/> 3 \| {3}- nmae: x\n.*\| {5}\^{4}/)
    expect(text).toContain('1 error in the files; the realm is unchanged.')
    expect(text).toContain('waiting for the files to be put right')
  })

  it('obeys nothing that comes from a user', () => {
    const state = stateAfter(
      ...started,
      eventOf('LOGIN_FAILURE', 'AUTHN', { detail: '\u001b[2Jx' }),
      {
        type: 'server-log',
        level: 'warn',
        message: 'bad \u001b]0;title\u0007',
      },
    )
    const text = renderToString(createElement(Screen, { state, columns: 80, rows: 23 }))
    expect(text).not.toContain('\u001b[2J')
    expect(text).not.toContain('\u001b]0;')
  })
})

describe('events', () => {
  it('of an apply are one line; sign-ins are one each', () => {
    const created = eventOf('ADMIN_CREATE', 'ADMIN', { resourceType: 'roles' })
    const { events } = stateAfter(created, created, created, eventOf('LOGIN_SUCCESS'), created)
    expect(events.map(({ count }) => count)).toEqual([3, 1, 1])
    const { events: logins } = stateAfter(eventOf('LOGIN_SUCCESS'), eventOf('LOGIN_SUCCESS'))
    expect(logins).toHaveLength(2)
  })

  it('leave out the look that every apply begins with', () => {
    expect(
      stateAfter(eventOf('ADMIN_ACTION', 'ADMIN', { resourceType: 'compare' })).events,
    ).toEqual([])
  })
})

describe('messages to users', () => {
  const message = {
    realm: 'acme',
    channel: 'EMAIL',
    to: 'alice@acme.example',
    subject: 'Sign in to acme',
    text: 'Hello alice,\n\nsign in with this link:\n\nhttp://127.0.0.1:8080/x?y=1\n',
  }
  const shown = (more: object): string =>
    screen(stateAfter(...started, { type: 'message', message: { ...message, ...more } }))
      .map((line) => line.trim())
      .join('')

  it('are shown with the link that is in them, to its end, else with their words', () => {
    const link = `http://127.0.0.1:8080/realms/acme/login/link?token=${'abcdefghij'.repeat(12)}`
    expect(shown({ text: `Hello,\n\nsign in:\n\n${link}\n` })).toContain(
      `EMAIL           acme  to alice@acme.example  Sign in to acme${link}`,
    )
    expect(shown({ text: '123456 is\nyour code' })).toContain('123456 is your code')
  })

  it('obey nothing either', () => {
    expect(shown({ text: '\u001b[2J', to: '\u001b]0;x\u0007' })).not.toContain('\u001b')
  })
})

describe('the lines of an apply', () => {
  it('tell what is new by name, and what changes field by field', () => {
    const changes = [
      changeOf({ key: 'new' }),
      changeOf({
        action: 'update',
        fields: [
          { pointer: '/name', change: 'set', before: 'A', after: 'B' },
          { pointer: '/redirectUris', change: 'add', value: 'https://x.example' },
          { pointer: '/redirectUris', change: 'remove', value: 'https://y.example' },
        ],
        secrets: [{ pointer: '/secret', change: 'changed', source: { from: 'env', name: 'S' } }],
      }),
      changeOf({ action: 'rename', key: 'b', from: 'a' }),
      changeOf({ action: 'delete', key: 'old' }),
    ]
    expect(textOf({ plan: planOf(changes) })).toEqual([
      '  + client "new"',
      '  ~ client "web"',
      '    ~ name: "A" -> "B"',
      '    + redirectUris: "https://x.example"',
      '    - redirectUris: "https://y.example"',
      '    ~ secret: (secret) changed',
      '  ~ client "b" (was "a")',
      '  - client "old"',
    ])
  })

  it('are headed by what came of it', () => {
    const headline = (outcome: Partial<ApplyOutcome>): string => headlineOf(outcomeOf(outcome)).text
    expect(headline({ plan: planOf([changeOf({})]) })).toBe(
      'Applied in 120 ms: 1 added, 0 changed, 0 destroyed.',
    )
    expect(headline({ status: 'unchanged' })).toBe('No changes.')
    expect(headline({ status: 'failed', message: 'no' })).toBe('Not applied: no')
  })
})

describe('the layout', () => {
  it('gives away no more than there is, and errors always find a place', () => {
    for (let height = 0; height < 60; height += 1)
      for (const wish of [0, 1, 5, 100]) {
        const given = allot(height, { pages: 40, notes: 3, changes: wish, events: 50 })
        const sum = given.pages + given.notes + given.changes + given.events
        expect(sum).toBeLessThanOrEqual(Math.max(0, height - 7))
        if (height >= 16 && wish > 0) expect(given.changes).toBeGreaterThan(0)
      }
  })

  it('cuts a list with a line that tells how many are missing', () => {
    expect(cutTo([1, 2, 3], 3)).toEqual({ shown: [1, 2, 3], more: 0 })
    expect(cutTo([1, 2, 3, 4], 3)).toEqual({ shown: [1, 2], more: 2 })
    expect(cutTo([1, 2], 0)).toEqual({ shown: [], more: 0 })
  })

  it('breaks texts between words and loses none', () => {
    const text = '  one two three four five six seven eight'
    const lines = wrapped(text, 16)
    expect(lines.every((line) => line.length <= 16)).toBe(true)
    expect(lines.map((line) => line.trim()).join(' ')).toBe(text.trim())
    expect(wrapped('short', 80)).toEqual(['short'])
  })
})
