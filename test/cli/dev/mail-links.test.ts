/** Links of messages on the dashboard: whole for the terminal, however narrow it is. */
import { stripVTControlCharacters } from 'node:util'
import { renderToString } from 'ink'
import { createElement } from 'react'
import { describe, expect, it } from 'vitest'
import type { Stamped } from '#cli/dev/happenings.ts'
import { Screen } from '#cli/views/human/dev/dashboard.tsx'
import { initialState, nextState } from '#cli/views/human/dev/state.ts'

const link = `http://127.0.0.1:8080/realms/acme/login/link?token=${'abcdefghij'.repeat(12)}end`

const drawn = (target: string, columns: number, hyperlinks: boolean): string => {
  const message = {
    realm: 'acme',
    channel: 'EMAIL',
    to: 'alice@acme.example',
    subject: 'Sign in to acme',
    text: `Hello,\n\nsign in:\n\n${target}\n`,
  }
  const at = new Date(2026, 0, 31, 12, 34, 56)
  const state = nextState(initialState, { type: 'message', message, at } as Stamped)
  return renderToString(createElement(Screen, { state, columns, rows: 30, hyperlinks }), {
    columns,
  })
}

describe('the link of a message', () => {
  it.each([20, 40, 80, 120])('is one hyperlink on %i columns', (columns) => {
    const text = drawn(link, columns, true)
    expect(text.split(link)).toHaveLength(2)
    expect(text).toContain(`\u001b]8;;${link}\u001b\\`)
    const rows = stripVTControlCharacters(text).split('\n')
    for (const row of rows) expect(row.length).toBeLessThanOrEqual(columns)
    expect(rows.filter((row) => /http.*….*end$/.test(row))).toHaveLength(1)
  })

  it('begins a row and is shown to its end where the terminal has no hyperlinks', () => {
    const text = drawn(link, 40, false)
    expect(text).not.toContain('\u001b]8')
    const rows = stripVTControlCharacters(text).split('\n')
    expect(rows.some((row) => row.startsWith(' http://127.0.0.1'))).toBe(true)
    expect(rows.map((row) => row.trim()).join('')).toContain(link)
  })

  it('carries nothing that the terminal obeys', () => {
    const text = drawn('http://127.0.0.1/\u001b]0;title\u0007\u009c\u202ex', 80, true)
    expect(text).not.toContain('\u001b]0;')
    for (const character of '\u0007\u009c\u202e') expect(text).not.toContain(character)
    expect(text).toContain('\u001b]8;;http://127.0.0.1/%1B]0;title%07%C2%9C%E2%80%AEx\u001b\\')
  })
})
