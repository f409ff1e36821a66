/** A terminal in memory: what is written to it becomes rows, as far as the dashboard needs it. Anything else is an error. */
import { PassThrough } from 'node:stream'

/** What a terminal does with the rows it shows when its width changes: xterm cuts them, others wrap them anew. */
export type OnResize = 'cuts' | 'wraps'

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal obeys
const sequence = /\u001b\[([?\d;]*)([A-Za-z])|\u001b\]8;[^\u001b\u0007]*(?:\u0007|\u001b\\)|./gsu

export class ScreenModel extends PassThrough {
  readonly isTTY = true
  columns: number
  rows: number
  written = ''
  readonly #onResize: OnResize
  #lines: string[] = ['']
  #row = 0
  #column = 0

  constructor(columns: number, rows: number, onResize: OnResize) {
    super()
    this.columns = columns
    this.rows = rows
    this.#onResize = onResize
  }

  override write(chunk: unknown, ...more: readonly unknown[]): boolean {
    this.#show(String(chunk))
    const done = more.at(-1)
    if (typeof done === 'function') done()
    return true
  }

  /** What a person sees, without the empty end of rows and of the screen. */
  get shown(): string[] {
    const lines = Array.from({ length: this.rows }, (_, i) => (this.#lines[i] ?? '').trimEnd())
    return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
  }

  resize(columns: number): void {
    const lines = this.#lines.map((line) => {
      if (this.#onResize === 'cuts') return [line.slice(0, columns)]
      return line.trimEnd().match(new RegExp(`.{1,${columns}}`, 'gu')) ?? ['']
    })
    this.#row = lines.slice(0, this.#row).flat().length
    this.#column = Math.min(this.#column, columns - 1)
    this.#lines = lines.flat()
    this.columns = columns
    this.#scroll()
    this.emit('resize')
  }

  #scroll(): void {
    while (this.#row >= this.rows) {
      this.#lines.shift()
      this.#row -= 1
    }
    this.#lines.length = Math.min(this.#lines.length, this.rows)
  }

  #show(text: string): void {
    this.written += text
    for (const [one, values = '', command] of text.matchAll(sequence)) {
      if (command !== undefined) this.#obey(values, command)
      else if (one === '\n') this.#nextRow()
      else if (one === '\r') this.#column = 0
      else if (!one.startsWith('\u001b]')) this.#put(one)
    }
  }

  #nextRow(): void {
    this.#row += 1
    this.#column = 0
    this.#scroll()
  }

  #put(character: string): void {
    if (character < ' ') throw new Error(`no terminal shows ${JSON.stringify(character)}`)
    // A row is left when the character after its last one comes.
    if (this.#column >= this.columns) this.#nextRow()
    const line = (this.#lines[this.#row] ?? '').padEnd(this.#column)
    this.#set(line.slice(0, this.#column) + character + line.slice(this.#column + 1))
    this.#column += 1
  }

  #set(line: string): void {
    while (this.#lines.length <= this.#row) this.#lines.push('')
    this.#lines[this.#row] = line
  }

  #obey(values: string, command: string): void {
    const [first = 1, second = 1] = values.split(';').map((value) => Number(value) || 1)
    const line = this.#lines[this.#row] ?? ''
    if (command === 'm' || values.startsWith('?')) return
    if (command === 'A') this.#row = Math.max(0, this.#row - first)
    else if (command === 'E') {
      this.#row = Math.min(this.rows - 1, this.#row + first)
      this.#column = 0
    } else if (command === 'G') this.#column = first - 1
    else if (command === 'H') {
      this.#row = first - 1
      this.#column = second - 1
    } else if (command === 'K') this.#set(values === '2' ? '' : line.slice(0, this.#column))
    else if (command === 'J' && values === '') {
      this.#set(line.slice(0, this.#column))
      this.#lines.length = this.#row + 1
    } else throw new Error(`unknown to this terminal: CSI ${values}${command}`)
  }
}

/** Its keyboard, without input. */
export const silentKeyboard = () => {
  const keyboard = new PassThrough()
  const nothing = () => keyboard
  return Object.assign(keyboard, { isTTY: true, setRawMode: nothing, ref: nothing, unref: nothing })
}
