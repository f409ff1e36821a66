/** Links of messages on the dashboard: whole for the terminal, however narrow it is. */
import { stripVTControlCharacters } from 'node:util'
import { renderToString } from 'ink'
import { createElement } from 'react'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Stamped } from '#cli/dev/happenings.ts'
import { openDashboard, Screen, type Streams } from '#cli/views/human/dev/dashboard.tsx'
import { initialState, nextState } from '#cli/views/human/dev/state.ts'
import { ScreenModel, silentKeyboard } from '../../support/processes/screen-model.ts'

const link = `http://127.0.0.1:8080/realms/acme/login/link?token=${'abcdefghij'.repeat(12)}end`

const at = new Date(2026, 0, 31, 12, 34, 56)

const messageWith = (target: string): Stamped => {
  const message = {
    realm: 'acme',
    channel: 'EMAIL',
    to: 'alice@acme.example',
    subject: 'Sign in to acme',
    text: `Hello,\n\nsign in:\n\n${target}\n`,
  }
  return { type: 'message', message, at } as Stamped
}

const drawn = (target: string, columns: number, hyperlinks: boolean): string => {
  const state = nextState(initialState, messageWith(target))
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

  it('is written as one line at a key, which the terminal folds and copies whole, and any key leads back', async () => {
    const terminal = new ScreenModel(60, 24, 'wraps')
    let written = ''
    const write = terminal.write.bind(terminal)
    terminal.write = (chunk: unknown, ...more: readonly unknown[]): boolean => {
      written += String(chunk)
      return write(chunk, ...more)
    }
    const keyboard = silentKeyboard()
    let applied = 0
    const applyAgain = (): void => {
      applied += 1
    }
    const controls = { quit: () => {}, applyAgain }
    const streams = { stdin: keyboard, stdout: terminal } as unknown as Streams
    const view = openDashboard(controls, streams)
    onTestFinished(() => view.close())
    const screenOf = (...targets: readonly string[]): string[] => {
      const state = targets.map(messageWith).reduce(nextState, initialState)
      const screen = createElement(Screen, { state, columns: 60, rows: 23 })
      const text = stripVTControlCharacters(renderToString(screen, { columns: 60 }))
      return text.split('\n').map((line) => line.trimEnd())
    }
    view.show(messageWith(link))
    await expect.poll(() => terminal.shown).toEqual(screenOf(link))
    expect(terminal.shown.join()).toContain('l links in full')
    expect(written).not.toContain(link)
    keyboard.write('l')
    await expect.poll(() => written).toContain(`${link}\r\n`)
    // What happens meanwhile is not drawn over it.
    const before = written
    view.show(messageWith(`${link}-2`))
    keyboard.write('r')
    await expect.poll(() => terminal.shown).toEqual(screenOf(link, `${link}-2`))
    expect(written.slice(before.length).startsWith('\u001b')).toBe(true)
    expect(applied).toBe(0)
  })

  it('carries nothing that the terminal obeys', () => {
    const text = drawn('http://127.0.0.1/\u001b]0;title\u0007\u009c\u202ex', 80, true)
    expect(text).not.toContain('\u001b]0;')
    for (const character of '\u0007\u009c\u202e') expect(text).not.toContain(character)
    expect(text).toContain('\u001b]8;;http://127.0.0.1/%1B]0;title%07%C2%9C%E2%80%AEx\u001b\\')
  })
})
