/** `iamctl dev` on a terminal: one screen with pages, people, the last apply and what happens right now. */

import { Box, render, Text, useInput } from 'ink'
import { type ReactElement, type ReactNode, useSyncExternalStore } from 'react'
import type { Controls, DevView } from '../../../dev/happenings.ts'
import { printOut } from '../../streams.ts'
import { eventLine, type ShownEvent } from './events.ts'
import { hasHyperlinks, hyperlink } from './hyperlinks.ts'
import { allot, broken, cutTo, wrapped } from './layout.ts'
import type { Line, Tone } from './lines.ts'
import { type PageRow, pageRows } from './pages.ts'
import { type DashboardState, initialState, nextState } from './state.ts'
import { clockOf, secondsOf } from './words.ts'

const labelWidth = 11

const colours = {
  add: 'green',
  change: 'yellow',
  remove: 'red',
  error: 'red',
  warning: 'yellow',
  quiet: 'gray',
  normal: undefined,
} as const satisfies Record<Tone, string | undefined>

/** One row, cut off at the edge of the screen. */
const Row = ({ children }: { readonly children: ReactNode }): ReactElement => (
  <Box height={1} flexShrink={0}>
    {children}
  </Box>
)

const Gap = (): ReactElement => <Box height={1} flexShrink={0} />

const Label = ({ text }: { readonly text: string }): ReactElement => (
  <Box width={labelWidth} flexShrink={0}>
    <Text dimColor>{text}</Text>
  </Box>
)

const Tinted = ({ line: { tone, text } }: { readonly line: Line }): ReactElement => {
  const color = colours[tone]
  return (
    <Text wrap="truncate-end" {...(color === undefined ? {} : { color })}>
      {text}
    </Text>
  )
}

const More = ({ count }: { readonly count: number }): ReactElement | null =>
  count === 0 ? null : (
    <Row>
      <Text dimColor>{`  … ${count} more`}</Text>
    </Row>
  )

const statusOf = ({ phase, readyAfterMs, lastApply }: DashboardState): Line => {
  if (phase === 'starting') return { tone: 'change', text: 'starting …' }
  if (phase === 'applying') return { tone: 'change', text: 'applying …' }
  if (phase === 'stopping') return { tone: 'change', text: 'stopping …' }
  if (lastApply?.headline.tone === 'error')
    return { tone: 'error', text: '● waiting for the files to be put right' }
  const ready = readyAfterMs === null ? '' : `, ready after ${secondsOf(readyAfterMs)}`
  return { tone: 'add', text: `● watching${ready}` }
}

const Header = ({ state }: { readonly state: DashboardState }): ReactElement => (
  <Box height={1} flexShrink={0} justifyContent="space-between">
    <Box flexShrink={0} marginRight={2}>
      <Text bold>{`iamctl dev ${state.version}`}</Text>
    </Box>
    <Tinted line={statusOf(state)} />
  </Box>
)

const Pages = ({ rows, space }: { readonly rows: readonly PageRow[]; readonly space: number }) => {
  const { shown, more } = cutTo(rows, space)
  return (
    <>
      {shown.map(({ label, text }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row of the screen, whatever page it shows
        <Row key={i}>
          <Label text={label} />
          <Text wrap="truncate-end">{text}</Text>
        </Row>
      ))}
      <More count={more} />
    </>
  )
}

/** What is wrong is read to its end; a diff that is too wide is cut off. */
const fitted = (lines: readonly Line[], width: number): Line[] =>
  lines.flatMap((line) =>
    line.tone === 'error' || line.tone === 'warning'
      ? wrapped(line.text, width).map((text) => ({ ...line, text }))
      : [line],
  )

const LastApply = ({
  last,
  lines,
  space,
}: {
  readonly last: DashboardState['lastApply']
  readonly lines: readonly Line[]
  readonly space: number
}): ReactElement => {
  const { shown, more } = cutTo(lines, space)
  return (
    <>
      <Row>
        <Label text="Last apply" />
        {last === null ? (
          <Text dimColor>none yet</Text>
        ) : (
          <>
            <Box flexShrink={0} marginRight={2}>
              <Text dimColor>{clockOf(last.at)}</Text>
            </Box>
            <Tinted line={last.headline} />
          </>
        )}
      </Row>
      {shown.map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one apply never move
        <Row key={i}>
          <Tinted line={line} />
        </Row>
      ))}
      <More count={more} />
    </>
  )
}

const linkRows = (link: string | undefined, width: number, hyperlinks: boolean): string[] => {
  if (link === undefined) return []
  return hyperlinks ? [`  ${hyperlink(link, width - 2)}`] : broken(link, width)
}

const eventRows = (events: readonly ShownEvent[], width: number, hyperlinks: boolean): Line[] =>
  events.flatMap((event) => {
    const tone = event.failed ? 'error' : 'normal'
    const text = `  ${clockOf(event.at)}  ${eventLine(event)}`
    const rows = event.whole ? broken(text, width) : [text]
    return [...rows, ...linkRows(event.link, width, hyperlinks)].map((row) => ({ tone, text: row }))
  })

const Events = ({
  lines,
  space,
}: {
  readonly lines: readonly Line[]
  readonly space: number
}): ReactElement => (
  <>
    <Row>
      <Text dimColor>Events</Text>
    </Row>
    {(space === 0 ? [] : lines.slice(-space)).map((line, i) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: a row of the screen, whatever event it shows
      <Row key={i}>
        <Tinted line={line} />
      </Row>
    ))}
  </>
)

/** A path or an address in a note must be readable to its end. */
const noteRows = (note: string, width: number): string[] =>
  wrapped(note, width).flatMap((row) => broken(row, width))

/** Where not all have room, the newest from its start, which names the file. */
const shownNotes = (notes: readonly (readonly string[])[], space: number): readonly string[] => {
  const all = notes.flat()
  return all.length <= space ? all : (notes.at(-1) ?? []).slice(0, space)
}

export const Screen = ({
  state,
  columns,
  rows,
  hyperlinks = false,
}: {
  readonly state: DashboardState
  readonly columns: number
  readonly rows: number
  readonly hyperlinks?: boolean
}): ReactElement => {
  // A password or an address must be readable to its end.
  const pages = pageRows(state).flatMap(({ label, text }) =>
    broken(text, columns - 2 - labelWidth).map((piece, i) => ({
      label: i === 0 ? label : '',
      text: piece,
    })),
  )
  const changes = fitted(state.lastApply?.lines ?? [], columns - 2)
  const events = eventRows(state.events, columns - 2, hyperlinks)
  const notes = state.notes.map((note) => noteRows(note, columns - 2))
  const space = allot(rows, {
    pages: pages.length,
    notes: notes.flat().length,
    changes: changes.length,
    events: events.length,
  })
  return (
    <Box flexDirection="column" width={columns} height={rows} paddingX={1} overflow="hidden">
      <Header state={state} />
      <Gap />
      <Pages rows={pages} space={space.pages} />
      {shownNotes(notes, space.notes).map((note, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row of the screen, whatever note it shows
        <Row key={i}>
          <Tinted line={{ tone: 'warning', text: note }} />
        </Row>
      ))}
      <Gap />
      <LastApply last={state.lastApply} lines={changes} space={space.changes} />
      <Gap />
      <Events lines={events} space={space.events} />
      <Box flexGrow={1} />
      <Row>
        <Text dimColor>
          {`q quit   r apply again${linksOf(state).length > 0 ? '   l links in full' : ''}`}
        </Text>
      </Row>
    </Box>
  )
}

/** How many links are shown in full: those before them have been used, or are too old. */
const mostLinks = 5

/** Of messages, the newest last. */
const linksOf = ({ events }: DashboardState): string[] =>
  events.flatMap(({ link }) => link ?? []).slice(-mostLinks)

interface Shown {
  readonly state: DashboardState
  readonly columns: number
  readonly rows: number
}

interface Store {
  readonly get: () => Shown
  readonly subscribe: (changed: () => void) => () => void
}

/** Links in place of the dashboard, until a key is pressed. */
interface Aside {
  /** Whether the key reopened the dashboard. */
  readonly end: () => boolean
  readonly begin: () => void
}

const Dashboard = ({
  store,
  controls,
  aside,
}: {
  readonly store: Store
  readonly controls: Controls
  readonly aside: Aside
}): ReactElement => {
  const { state, columns, rows } = useSyncExternalStore(store.subscribe, store.get)
  useInput((input, key) => {
    const isBack = aside.end()
    if (input === 'q' || (key.ctrl && input === 'c')) controls.quit()
    else if (isBack) return
    else if (input === 'l') aside.begin()
    else if (input === 'r') controls.applyAgain()
  })
  // A screen that is filled to its last line would be drawn anew from the top every time.
  return (
    <Screen
      state={state}
      columns={columns}
      rows={Math.max(1, rows - 1)}
      hyperlinks={hasHyperlinks(process.env)}
    />
  )
}

/** The cursor in the first cell, and nothing from there on. */
const emptied = '\u001b[H\u001b[J'

/** A terminal that does not know its size is taken for the usual one. */
const sizeOf = ({ columns, rows }: NodeJS.WriteStream): Pick<Shown, 'columns' | 'rows'> => ({
  columns: columns || 80,
  rows: rows || 24,
})

export interface Streams {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
}

export const openDashboard = (
  controls: Controls,
  { stdin, stdout }: Streams = process,
): DevView => {
  let shown: Shown = { state: initialState, ...sizeOf(stdout) }
  let isAside = false
  const listeners = new Set<() => void>()
  const change = (changed: Partial<Shown>): void => {
    shown = { ...shown, ...changed }
    if (!isAside) for (const tell of listeners) tell()
  }
  const store: Store = {
    get: () => shown,
    subscribe: (changed) => {
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
  }
  // A terminal folds a line that is written whole, and copies it whole; rows that Ink has folded are copied as rows.
  const aside: Aside = {
    begin: () => {
      const links = linksOf(shown.state)
      if (links.length === 0) return
      isAside = true
      app.clear()
      stdout.write(`${emptied}${links.join('\r\n\r\n')}\r\n\r\nAny key leads back.`)
    },
    end: () => {
      if (!isAside) return false
      redraw()
      return true
    },
  }
  const dashboard = <Dashboard store={store} controls={controls} aside={aside} />
  const app = render(dashboard, {
    stdin,
    stdout,
    // The caller has checked that the output is a terminal; Ink would draw nothing where the environment says CI.
    interactive: true,
    alternateScreen: true,
    incrementalRendering: true,
    exitOnCtrlC: false,
    patchConsole: false,
  })
  // Ink draws relative to the cursor, and on a resize first with the width that the components had before: rows that the
  // terminal has wrapped or cut by then are where Ink does not look for them. So the screen is emptied, and the components
  // know the new width, before Ink hears of it.
  const redraw = (): void => {
    isAside = false
    app.clear()
    stdout.write(emptied)
    change(sizeOf(stdout))
    // At once, not in the next render of React.
    app.rerender(dashboard)
  }
  stdout.prependListener('resize', redraw)
  const over = app.waitUntilExit()
  // Without a screen the server would go on unseen: an error of drawing stops it.
  over.catch(() => controls.quit())
  return {
    show(happening) {
      change({ state: nextState(shown.state, happening) })
    },
    async close() {
      stdout.off('resize', redraw)
      app.unmount()
      await over
      printOut(`iamctl dev ${shown.state.notes.at(-1) ?? 'stopped'}`)
    },
  }
}
