/** Points in time as people read them: in the order and the words of a language, in UTC. */

const formats = new Map<string, Intl.DateTimeFormat>()
const mostFormats = 100

/** A tag that is none, in a template of a realm, has the dates of its language. */
const tagOf = (language: string): string => {
  try {
    return Intl.getCanonicalLocales(language)[0] ?? language
  } catch {
    return language.split('-')[0] ?? language
  }
}

/** Made when a date is shown first: those of all languages would take 20 ms of every start. */
export const dateIn = (language: string, time: number): string => {
  let format = formats.get(language)
  if (format === undefined) {
    format = new Intl.DateTimeFormat(tagOf(language), {
      dateStyle: 'medium',
      timeStyle: 'short',
      timeZone: 'UTC',
    })
    if (formats.size >= mostFormats) formats.clear()
    formats.set(language, format)
  }
  return format.format(time)
}

/** `1 minute`, `15 minutes`. */
export const minutesIn = (language: string, minutes: number): string =>
  new Intl.NumberFormat(tagOf(language), {
    style: 'unit',
    unit: 'minute',
    unitDisplay: 'long',
  }).format(minutes)
