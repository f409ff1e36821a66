/**
 * Texts whose case does not count, folded character by character (Unicode §3.13, simple case folding), so that a database can do the
 * same. Lower case alone is no such form: that of "Σ" depends on the letters around it, and that of "İ" is two characters.
 */

const ascii = /^[\0-\x7f]*$/

const foldOne = (one: string): string => {
  if (one === 'ς') return 'σ'
  const folded = one.toLowerCase()
  const isOfAscii = one <= '\x7f'
  // A letter beyond ASCII stays beyond it: the sign for Kelvin is no "k".
  return folded.length === one.length && isOfAscii === folded <= '\x7f' ? folded : one
}

export const foldCase = (text: string): string =>
  ascii.test(text) ? text.toLowerCase() : [...text].map(foldOne).join('')

/** The characters that are folded, and are not the upper case of what they are folded to. */
const titles = [...'ᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾼῌῼǅǈǋǲ']
const others = Map.groupBy([...titles, 'ς', 'ϴ', 'ẞ', '\u{2126}', '\u{212b}'], foldOne)

/** The other characters that are folded to this one, which is beyond ASCII. */
export const foldedTo = (folded: string): readonly string[] => {
  const upper = folded.toUpperCase()
  const isFolded = upper !== folded && foldCase(upper) === folded
  return [...(isFolded ? [upper] : []), ...(others.get(folded) ?? [])]
}
