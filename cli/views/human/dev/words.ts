/** Sentences that both views say in the same words. */

import { basename } from 'node:path'
import type { Occasion, Stamped, TestUser } from '../../../dev/happenings.ts'
import { harmless } from '../elements/text.ts'

const two = (value: number): string => String(value).padStart(2, '0')

/** As the person's own clock has it. */
export const clockOf = (at: Date): string =>
  `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`

export const secondsOf = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`

export const passwordOf = ({ password, from }: TestUser): string =>
  harmless(password ?? `(as ${from ?? 'the files'} says)`)

const mostFiles = 3

export const occasionText = (occasion: Occasion): string => {
  if (occasion.why !== 'saved')
    return occasion.why === 'asked' ? 'asked to apply again' : 'applying'
  const names = occasion.files.map((file) => basename(file))
  const more = names.length - mostFiles
  const list = names.slice(0, mostFiles).join(', ')
  return harmless(`saved ${list}${more > 0 ? ` and ${more} more` : ''}`)
}

/** What is worth a line of its own; undefined of what the views show in their own ways. */
export const noteOf = (happening: Stamped): string | undefined => {
  switch (happening.type) {
    case 'port-taken':
      return `port ${happening.wanted} is in use: using ${happening.port}`
    case 'secrets-made': {
      const { names, file } = happening
      const what = names.length === 1 ? 'a secret' : `${names.length} secrets`
      // The path first: the list of names may be longer than the screen.
      return harmless(
        `${file} contains ${what}, generated because the variables are not set: ${names.join(', ')}`,
      )
    }
    case 'server-log':
      return harmless(`server ${happening.level}: ${happening.message}`)
    case 'not-watched':
      return harmless(`cannot watch ${happening.folder}: ${happening.message}`)
    case 'stopped':
      return happening.kept
        ? harmless(`stopped; the data stay in ${happening.data}`)
        : 'stopped; the data are removed'
    default:
      return undefined
  }
}
