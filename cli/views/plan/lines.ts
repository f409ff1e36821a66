/** The lines of a plan before they get colours and indents: what people and pull requests see is the same. */

export type Sign = '+' | '-' | '~' | ' '

export interface Line {
  readonly sign: Sign
  /** How deep it is nested; 1 is a document. */
  readonly depth: number
  readonly text: string
  /** A remark, such as how much is hidden. */
  readonly isNote?: true
  /** The remark that begins a change. */
  readonly isHeadline?: true
}

export const note = (depth: number, text: string): Line => ({
  sign: ' ',
  depth,
  text: `# ${text}`,
  isNote: true,
})

/** `1 item`, `2 items`. */
export const counted = (count: number, word: string): string =>
  `${count} ${word}${count === 1 ? '' : 's'}`
