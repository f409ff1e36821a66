/** The nesting depth of JSON, checked before parsing: recursive functions would run out of stack. */

/** Realms have a tenth of it. */
const deepest = 200

const quote = 0x22
const backslash = 0x5c
const opening = new Set([0x5b, 0x7b])
const closing = new Set([0x5d, 0x7d])

/** The place of the quote that ends the string which begins at `start`. */
const endOfString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1
    if (escapes % 2 === 0) return at
  }
  return text.length
}

export const isTooDeep = (text: string): boolean => {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === quote) at = endOfString(text, at)
    else if (opening.has(unit)) {
      depth += 1
      if (depth > deepest) return true
    } else if (closing.has(unit)) depth -= 1
  }
  return false
}
