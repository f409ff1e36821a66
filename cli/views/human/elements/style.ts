/** Colours for people. Off unless the stream is a terminal; FORCE_COLOR and NO_COLOR decide otherwise, in this order. */

import { styleText } from 'node:util'

const names = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const

export type Style = Readonly<Record<(typeof names)[number], (text: string) => string>>

export interface Stage {
  readonly isTTY: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

const hasColours = ({ isTTY, env }: Stage): boolean => {
  const { FORCE_COLOR: forced, NO_COLOR: refused } = env
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return !refused && isTTY && env['TERM'] !== 'dumb'
}

const styleOf = (isOn: boolean): Style => {
  const entries = names.map((name) => [
    name,
    isOn
      ? (text: string) => styleText(name, text, { validateStream: false })
      : (text: string) => text,
  ])
  return Object.fromEntries(entries)
}

export const plain: Style = styleOf(false)

export const createStyle = (stage: Stage): Style => (hasColours(stage) ? styleOf(true) : plain)
