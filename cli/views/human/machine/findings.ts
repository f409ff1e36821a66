/** The findings of checks: a line each, with the hint below those with a problem. */

import type { Finding } from '#schemas/wire/findings.ts'
import { printOut } from '../../streams.ts'
import { harmlessLines, onOut } from '../elements/text.ts'

const marks = { ok: '✓', warning: '!', error: '✗' } as const
const colours = { ok: 'green', warning: 'yellow', error: 'red' } as const

const count = (number: number, word: string): string =>
  `${number} ${word}${number === 1 ? '' : 's'}`

/** "2 errors, 1 warning", or that all is well. */
const summaryOf = (findings: readonly Finding[]): string => {
  const number = (status: Finding['status']): number =>
    findings.filter((one) => one.status === status).length
  const [errors, warnings] = [number('error'), number('warning')]
  const parts = [
    ...(errors > 0 ? [count(errors, 'error')] : []),
    ...(warnings > 0 ? [count(warnings, 'warning')] : []),
  ]
  return parts.length === 0 ? 'All is well.' : `${parts.join(', ')}.`
}

const linesOf = ({ check, status, message, remedy }: Finding, width: number): string[] => [
  `${onOut(colours[status], marks[status])} ${onOut('bold', check.padEnd(width))}  ${harmlessLines(message)}`,
  ...(remedy === undefined
    ? []
    : [`${' '.repeat(width + 4)}${onOut('cyan', '→')} ${harmlessLines(remedy)}`]),
]

export const showFindings = (findings: readonly Finding[]): void => {
  const width = Math.max(...findings.map(({ check }) => check.length))
  printOut([...findings.flatMap((one) => linesOf(one, width)), '', summaryOf(findings)].join('\n'))
}
