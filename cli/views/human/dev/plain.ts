/** `iamctl dev` where no dashboard can be: a line for everything that happens, and below it what belongs to it. */

import type { DevView, Stamped } from '../../../dev/happenings.ts'
import { printOut } from '../../streams.ts'
import { harmless, onOut } from '../elements/text.ts'
import { eventLine, isWorthShowing, type ShownEvent, shownEvent, withEvent } from './events.ts'
import { headlineOf, type Line, outcomeLines, type Tone } from './lines.ts'
import { clockOf, noteOf, occasionText, passwordOf, secondsOf } from './words.ts'

const styles = {
  add: 'green',
  change: 'yellow',
  remove: 'red',
  error: 'red',
  warning: 'yellow',
  quiet: 'dim',
  normal: 'reset',
} as const satisfies Record<Tone, string>

/** An apply that creates a whole realm is summarised. */
const mostLines = 60
/** Consecutive events are reported together. */
const rowMs = 200

const styled = ({ tone, text }: Line): string => onOut(styles[tone], text)

const shortened = (lines: readonly Line[]): string[] => {
  const more = lines.length - mostLines
  return [
    ...lines.slice(0, mostLines).map(styled),
    ...(more > 0 ? [onOut('dim', `  … and ${more} more lines`)] : []),
  ]
}

const pageLines = ({ realms, users }: Extract<Stamped, { type: 'realms' }>): string[] => [
  ...realms.flatMap(({ realm, signIn, discovery }) => [
    `  ${realm}: sign in at ${signIn}`,
    ...(discovery === null ? [] : [`  ${realm}: discovery at ${discovery}`]),
  ]),
  ...users.map((user) => harmless(`  ${user.realm}: ${user.username} / `) + passwordOf(user)),
]

const linesOf = (happening: Stamped): string[] => {
  switch (happening.type) {
    case 'starting': {
      const where = happening.kept ? harmless(happening.data) : 'a temporary folder'
      return [`iamctl dev ${happening.version}: starting a server with its data in ${where}`]
    }
    case 'server-ready': {
      const { url, api, docs, admin } = happening
      return [
        `the server is up at ${url}`,
        `  admin API at ${api}, described at ${docs}`,
        `  master: ${admin.username} / ${admin.password}, sign in at ${admin.signIn}`,
      ]
    }
    case 'applying':
      return happening.occasion.why === 'start' ? [] : [occasionText(happening.occasion)]
    case 'synced':
      return [styled(headlineOf(happening.outcome)), ...shortened(outcomeLines(happening.outcome))]
    case 'realms':
      return pageLines(happening)
    case 'ready':
      return [
        happening.applied
          ? `ready after ${secondsOf(happening.milliseconds)}; watching for changes, Ctrl-C stops`
          : 'waiting for the files to be put right; Ctrl-C stops',
      ]
    case 'message': {
      const { realm, channel, to, subject, text } = happening.message
      const lines = [subject, ...text.split('\n')].filter((line) => line.trim() !== '')
      return [`${channel} of ${realm} to ${to}`, ...lines.map((line) => `  ${line}`)].map(harmless)
    }
    case 'stopping':
      return ['stopping']
    default:
      return [noteOf(happening) ?? []].flat()
  }
}

export const openPlainView = (): DevView => {
  let lastPages = ''
  let row: readonly ShownEvent[] = []
  let timer: NodeJS.Timeout | undefined

  const print = (at: Date, lines: readonly string[]): void => {
    const [first, ...rest] = lines
    if (first === undefined) return
    printOut(
      [`${onOut('dim', clockOf(at))}  ${first}`, ...rest.map((one) => `        ${one}`)].join('\n'),
    )
  }
  const tellRow = (): void => {
    clearTimeout(timer)
    for (const event of row) print(event.at, [eventLine(event)])
    row = []
  }

  return {
    show(happening) {
      if (happening.type === 'event') {
        if (!isWorthShowing(happening)) return
        row = withEvent(row, shownEvent(happening))
        clearTimeout(timer)
        timer = setTimeout(tellRow, rowMs)
        return
      }
      const lines = linesOf(happening)
      if (happening.type === 'realms') {
        // Told again only where something is new.
        const pages = lines.join('\n')
        if (pages === lastPages) return
        lastPages = pages
        print(happening.at, ['pages and people', ...lines])
      } else print(happening.at, lines)
    },
    async close() {
      tellRow()
    },
  }
}
