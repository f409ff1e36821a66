/**
 * The code blocks of a Markdown page as steps of a test. CONTRIBUTING.md ("Guides") documents the markers:
 * an HTML comment `<!-- run: … -->` on the line before a block says what a plain run of the block cannot know.
 */

export interface Command {
  /** Line of the page, for the message of a failure. */
  readonly line: number
  readonly text: string
  readonly exit: number
  /** Expected lines of output; undefined where the page shows none. */
  readonly output?: readonly string[]
}

export type Step =
  | { readonly type: 'file'; readonly line: number; readonly name: string; readonly text: string }
  | ({ readonly type: 'command' } & Command)
  | ({ readonly type: 'background'; readonly until: string } & Command)
  | { readonly type: 'not-run'; readonly line: number; readonly reason: string }

interface Block {
  readonly line: number
  readonly language: string
  readonly text: string
  readonly marker: string
}

/** Blocks in these languages only illustrate; the YAML ones are validated by test/schemas/editor/files.test.ts. */
const illustrations = new Set(['yaml', 'json', 'text', 'diff'])

const fail = (line: number, what: string): never => {
  throw new Error(`line ${line}: ${what}`)
}

const openings = /^(?:<!-- run(?<hidden>:? ?)|```)/

/** Fenced blocks with their markers, and hidden blocks (`<!-- run`, commands, `-->`). */
const blocksOf = (page: string): Block[] => {
  const lines = page.split('\n')
  const blocks: Block[] = []
  let marker: { readonly line: number; readonly text: string } | undefined
  for (let i = 0; i < lines.length; i += 1) {
    const text = lines[i] ?? ''
    const line = i + 1
    if (!openings.test(text)) {
      if (marker !== undefined) fail(marker.line, 'a marker stands on the line before its block')
      continue
    }
    const [, single] = /^<!-- run: (.*) -->$/.exec(text) ?? []
    if (single !== undefined) {
      if (marker !== undefined) fail(line, 'two markers before one block')
      marker = { line, text: single }
      continue
    }
    const end = text.startsWith('```') ? '```' : '-->'
    const last = lines.indexOf(end, i + 1)
    if (last === -1) fail(line, `the block has no end: ${end}`)
    const language = end === '-->' ? 'sh' : text.slice(3)
    const body = lines.slice(i + 1, last).join('\n')
    blocks.push({ line, language, text: `${body}\n`, marker: marker?.text ?? '' })
    marker = undefined
    i = last
  }
  return blocks
}

/** Commands of a `console` block begin with `$ `; what follows is their output. */
const consoleCommands = ({ line, text }: Block, exit: number): Command[] => {
  const commands: { line: number; text: string; output: string[] }[] = []
  for (const [i, part] of text.trimEnd().split('\n').entries()) {
    const current = commands.at(-1)
    if (part.startsWith('$ '))
      commands.push({ line: line + 1 + i, text: part.slice(2), output: [] })
    else if (current === undefined) fail(line + 1 + i, 'a console block begins with "$ "')
    else if (current.text.endsWith('\\')) current.text += `\n${part}`
    else current.output.push(part)
  }
  return commands.map((command, i) => ({ ...command, exit: i === commands.length - 1 ? exit : 0 }))
}

const stepsOfCommands = (block: Block): Step[] => {
  const { line, language, text, marker } = block
  const [, reason] = /^no, (.+)$/.exec(marker) ?? []
  if (reason !== undefined) return [{ type: 'not-run', line, reason }]
  const [, until] = /^in the background until "(.+)"$/.exec(marker) ?? []
  if (until !== undefined) return [{ type: 'background', line, text, exit: 0, until }]
  const [, code] = /^exit (\d+)(?:, .+)?$/.exec(marker) ?? []
  if (marker !== '' && code === undefined) fail(line, `unknown marker: ${marker}`)
  const exit = Number(code ?? 0)
  if (language === 'sh') return [{ type: 'command', line, text, exit }]
  return consoleCommands(block, exit).map((command) => ({ type: 'command', ...command }))
}

/** A YAML block is a file of the page where its first line is a comment with the name. */
const stepsOfIllustration = ({ line, text, marker }: Block): Step[] => {
  if (marker !== '') fail(line, 'a marker belongs before a block of commands')
  const [, name] = /^# ([\w./-]+\.ya?ml)\n/.exec(text) ?? []
  return name === undefined ? [] : [{ type: 'file', line, name, text }]
}

export const stepsOf = (page: string): Step[] =>
  blocksOf(page).flatMap((block) => {
    if (block.language === 'sh' || block.language === 'console') return stepsOfCommands(block)
    if (illustrations.has(block.language)) return stepsOfIllustration(block)
    return fail(block.line, `a block is sh, console, ${[...illustrations].join(', ')}`)
  })
