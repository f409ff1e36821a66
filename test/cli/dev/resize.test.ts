/** The dashboard on a terminal whose width changes: every row stands once, and none is wider than the terminal. */
import { stripVTControlCharacters } from 'node:util'
import { renderToString } from 'ink'
import { createElement } from 'react'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Happening, Stamped } from '#cli/dev/happenings.ts'
import { openDashboard, Screen, type Streams } from '#cli/views/human/dev/dashboard.tsx'
import { initialState, nextState } from '#cli/views/human/dev/state.ts'
import { type OnResize, ScreenModel, silentKeyboard } from '../../support/processes/screen-model.ts'

const at = new Date(2026, 0, 31, 12, 34, 56)
const url = 'http://127.0.0.1:8080'
const rows = 24

const happenings: readonly Happening[] = [
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
    realms: ['acme', 'shop'].map((realm) => ({
      realm,
      signIn: `${url}/realms/${realm}/account-of-a-long-name/login`,
      discovery: `${url}/realms/${realm}/.well-known/openid-configuration`,
    })),
    users: [{ realm: 'acme', username: 'alice', password: 'alice-word', from: null }],
  },
  { type: 'server-log', level: 'warn', message: 'something that takes more than a row '.repeat(4) },
  { type: 'ready', milliseconds: 1234, applied: true },
]
const later = (i: number): Happening => ({
  type: 'message',
  message: { realm: 'acme', channel: 'SMS', to: `+4912345${i}`, subject: '', text: `code ${i}` },
})

describe.each(['cuts', 'wraps'] satisfies OnResize[])('on a terminal that %s its rows', (way) => {
  it.each([
    { first: 100, widths: [60, 120] },
    { first: 60, widths: [120, 100, 40] },
    { first: 120, widths: [119, 118, 61, 62, 200] },
  ])('the dashboard is whole from $first to each of $widths', async ({ first, widths }) => {
    const terminal = new ScreenModel(first, rows, way)
    const streams = { stdin: silentKeyboard(), stdout: terminal } as unknown as Streams
    const view = openDashboard({ quit: () => {}, applyAgain: () => {} }, streams)
    onTestFinished(() => view.close())
    let state = initialState
    const show = (happening: Happening): void => {
      const stamped = { ...happening, at } as Stamped
      state = nextState(state, stamped)
      view.show(stamped)
    }
    const isWhole = async (): Promise<void> => {
      const { columns } = terminal
      const screen = createElement(Screen, { state, columns, rows: rows - 1 })
      const expected = stripVTControlCharacters(renderToString(screen, { columns }))
      await expect
        .poll(() => terminal.shown)
        .toEqual(expected.split('\n').map((line) => line.trimEnd()))
    }

    for (const happening of happenings) show(happening)
    await isWhole()
    for (const [i, width] of widths.entries()) {
      terminal.resize(width)
      await isWhole()
      // The next change is drawn over the rows that it changes, which must be where they are thought to be.
      show(later(i))
      await isWhole()
    }
  })
})
