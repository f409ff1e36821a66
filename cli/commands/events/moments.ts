/** Moments as people write them: a date, a date and time, or how long ago. */

import { CommandError, exitCodes } from '../../exit.ts'

const units: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** A date, then perhaps a time; without a zone it is UTC, as all output is. */
const written = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/i

/** RFC 3339 in UTC. */
export const momentOf = (flag: string, text: string, now: number): string => {
  const relative = /^(\d{1,6})([smhdw])$/.exec(text)
  if (relative) {
    const [, amount, unit = ''] = relative
    return new Date(now - Number(amount) * (units[unit] ?? 0)).toISOString()
  }
  const [, date, time = '00:00', zone = 'Z'] = written.exec(text) ?? []
  const at = date === undefined ? Number.NaN : Date.parse(`${date}T${time}${zone}`)
  if (Number.isNaN(at))
    throw new CommandError(exitCodes.error, `--${flag} "${text}" is not a time`, {
      hint: 'write 2026-01-31, 2026-01-31T08:00:00Z, or how long ago: 15m, 2h, 7d, 4w',
    })
  return new Date(at).toISOString()
}
