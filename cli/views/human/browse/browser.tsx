/** `iamctl plan --interactive`: the plan on a full screen, to browse, search and approve. */

import { Box, type Key, render, Text, useInput, useWindowSize } from 'ink'
import { type ReactElement, useEffect, useState } from 'react'
import { isApplicable, type Plan, totalOf } from '../../../planning/plan.ts'
import { countsText } from '../../plan/words.ts'
import { plain } from '../elements/style.ts'
import { harmless } from '../elements/text.ts'
import { lineText } from '../estate/plan.ts'
import { type Item, itemsOf } from './items.ts'
import {
  type Browsing,
  beginBrowsing,
  type Press,
  press,
  type Row,
  rowsOf,
  windowStart,
} from './state.ts'

export type Outcome = NonNullable<Browsing['outcome']>

const colours: Readonly<Record<Item['sign'], string | undefined>> = {
  '+': 'green',
  '-': 'red',
  '~': 'yellow',
  '!': 'yellow',
  ' ': undefined,
}

/** Two lines above the list, two below, and one that stays free: a full screen would be drawn from its top every time. */
const frame = 5

const characters: Readonly<Record<string, Press['key']>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\u0003': 'interrupt',
}

const keyOf = (input: string, key: Key): Press['key'] | null => {
  if (key.ctrl && input === 'c') return 'interrupt'
  if (key.upArrow) return 'up'
  if (key.downArrow) return 'down'
  if (key.pageUp) return 'page-up'
  if (key.pageDown) return 'page-down'
  if (key.home) return 'home'
  if (key.end) return 'end'
  if (key.return) return 'enter'
  if (key.tab) return key.shift ? 'back-tab' : 'tab'
  if (key.escape) return 'escape'
  return key.backspace || key.delete ? 'backspace' : null
}

/** Fast typing and pasting give several keys at once. */
const pressesOf = (input: string, key: Key): Press[] => {
  const named = keyOf(input, key)
  if (named !== null) return [{ key: named, text: '' }]
  if (key.ctrl || key.meta) return []
  return [...input].map((text) => ({ key: characters[text] ?? 'text', text }))
}

const ListRow = ({
  row: { item, line },
  state,
  isHere,
}: {
  readonly row: Row
  readonly state: Browsing
  readonly isHere: boolean
}): ReactElement => {
  const { sign, title, lines } = state.items[item] ?? { sign: ' ', title: '', lines: [] }
  const marker = lines.length === 0 ? ' ' : state.open.has(item) ? '▾' : '▸'
  const color = colours[line === null ? sign : line.sign]
  const text = line === null ? `${marker} ${sign} ${title}` : `    ${lineText(line, plain)}`
  return (
    <Box height={1} flexShrink={0}>
      <Text
        wrap="truncate-end"
        inverse={isHere}
        bold={line === null}
        {...(color === undefined ? {} : { color })}
      >
        {text}
      </Text>
    </Box>
  )
}

const footer = ({ isTyping, query, isApplicable: may }: Browsing, shown: number): string => {
  if (isTyping) return `/${query}▏   enter keeps it, esc ends the search`
  const filter = query === '' ? '' : `   "${query}": ${shown} (esc shows all)`
  const approve = may ? '   a approve' : '   it cannot be applied'
  return `↑↓ move   enter open   e/c all   / search${approve}   q quit${filter}`
}

const Browser = ({
  plan,
  onEnd,
}: {
  readonly plan: Plan
  readonly onEnd: (outcome: Outcome) => void
}): ReactElement => {
  const [state, setState] = useState(() => beginBrowsing(itemsOf(plan), isApplicable(plan)))
  const { columns, rows: height } = useWindowSize()
  const page = Math.max(1, height - frame)
  useInput((input, key) =>
    setState((before) =>
      pressesOf(input, key).reduce((state, pressed) => press(state, pressed, page), before),
    ),
  )
  useEffect(() => {
    if (state.outcome !== null) onEnd(state.outcome)
  }, [state.outcome, onEnd])
  const rows = rowsOf(state)
  const start = windowStart(state.cursor, rows.length, page)
  const titles = rows.filter(({ line }) => line === null).length
  return (
    <Box flexDirection="column" width={columns} height={Math.max(1, height - 1)} overflow="hidden">
      <Text bold wrap="truncate-end">
        {`Plan for ${harmless(plan.server)}: ${countsText(totalOf(plan.realms))}`}
      </Text>
      <Box height={1} flexShrink={0} />
      {rows.slice(start, start + page).map((row, index) => (
        <ListRow key={row.id} row={row} state={state} isHere={start + index === state.cursor} />
      ))}
      <Box flexGrow={1} />
      <Text dimColor wrap="truncate-end">
        {footer(state, titles)}
      </Text>
    </Box>
  )
}

/** Runs until the user approves or quits, and then restores the screen. */
export const browsePlan = (plan: Plan): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    let outcome: Outcome = 'left'
    const app = render(
      <Browser
        plan={plan}
        onEnd={(decided) => {
          outcome = decided
          app.unmount()
        }}
      />,
      { alternateScreen: true, exitOnCtrlC: false, patchConsole: false },
    )
    app.waitUntilExit().then(() => resolve(outcome), reject)
  })
