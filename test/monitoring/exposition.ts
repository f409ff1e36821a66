/** Reads the text exposition format, as a scraper does. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const line = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/

const labelsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [
      name ?? '',
      value ?? '',
    ]),
  )

/** Fails for a line that no scraper would read. */
export const samplesIn = (text: string): Sample[] =>
  text
    .split('\n')
    .filter((one) => one !== '' && !one.startsWith('#'))
    .map((one) => {
      const [, name, labels = '', value] = line.exec(one) ?? []
      if (name === undefined || Number.isNaN(Number(value))) throw new Error(`not a sample: ${one}`)
      return { name, labels: labelsIn(labels), value: Number(value) }
    })

/** The sum of the samples of a name that carry these labels. */
export const sumOf = (
  samples: readonly Sample[],
  wanted: string,
  labels: Readonly<Record<string, string>> = {},
): number =>
  samples
    .filter(({ name }) => name === wanted)
    .filter((sample) =>
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0)
