/**
 * Colours that can be read, whatever a realm chooses as its own: relative luminance and contrast as WCAG 2.2
 * defines them (success criteria 1.4.3 and 1.4.11).
 */

type Rgb = readonly [red: number, green: number, blue: number]

const parse = (color: string): Rgb | undefined => {
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(color)
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color)
  const digits = short?.slice(1).map((digit) => digit + digit) ?? long?.slice(1)
  const [red, green, blue] = digits?.map((pair) => Number.parseInt(pair, 16)) ?? []
  if (red === undefined || green === undefined || blue === undefined) return undefined
  return [red, green, blue]
}

const rgb = (color: string): Rgb => {
  const parsed = parse(color)
  if (parsed === undefined) throw new RangeError('a colour is # and 3 or 6 hexadecimal digits')
  return parsed
}

export const isColor = (text: string): boolean => parse(text) !== undefined

const luminance = (color: string): number => {
  const linear = (channel: number): number => {
    const value = channel / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }
  const [red, green, blue] = rgb(color)
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/** From 1 (the same) to 21 (black on white). */
export const contrast = (a: string, b: string): number => {
  const [darker = 0, lighter = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (lighter + 0.05) / (darker + 0.05)
}

export const isDark = (color: string): boolean => textOn(color) === '#ffffff'

/** Black or white, whichever reads better; one of them always reaches 4.5. */
export const textOn = (background: string): '#000000' | '#ffffff' =>
  contrast(background, '#ffffff') >= contrast(background, '#000000') ? '#ffffff' : '#000000'

/** `share` is the part of the second colour, 0 to 1. */
export const mix = (from: string, to: string, share: number): string => {
  const target = rgb(to)
  const channels = rgb(from).map((channel, index) =>
    Math.round(channel + ((target[index] ?? 0) - channel) * share)
      .toString(16)
      .padStart(2, '0'),
  )
  return `#${channels.join('')}`
}

/** The colour itself, or as little darker or lighter as it takes to reach the contrast. */
export const readableOn = (color: string, background: string, least = 4.5): string => {
  const towards = textOn(background)
  for (let share = 0; share < 1; share += 0.02) {
    const candidate = mix(color, towards, share)
    if (contrast(candidate, background) >= least) return candidate
  }
  return towards
}
