/** The manual says what the commands say, and is what the generator writes. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type DescribedCommand, describeProgram, variablesOf } from '#cli/manual/described.ts'
import { markdownPages } from '#cli/manual/markdown.ts'
import { manPage } from '#cli/manual/roff.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const groups = describeProgram()
const stale = 'it is stale: run `npm run docs` (node cli/manual/generate.ts)'

describe('the manual', () => {
  it('is fresh, every page of it', () => {
    const pages = markdownPages(groups)
    expect(readdirSync(new URL('docs/commands', root)).sort(), stale).toEqual(
      [...pages.keys()].sort(),
    )
    for (const [file, text] of pages)
      expect(read(`docs/commands/${file}`), `${file}: ${stale}`).toBe(text)
    expect(read('man/iamctl.1'), `iamctl.1: ${stale}`).toBe(manPage(groups))
  })

  it('has every command with an example', () => {
    const page = manPage(groups)
    const visit = (command: DescribedCommand): void => {
      expect(page).toContain(`.SS "iamctl ${command.name.replaceAll('-', '\\-')}"`)
      if (command.commands.length === 0 && !command.name.startsWith('server'))
        expect(command.examples, command.name).not.toEqual([])
      for (const one of command.commands) visit(one)
    }
    for (const { commands } of groups) for (const command of commands) visit(command)
    expect(groups.flatMap(({ commands }) => commands).length).toBeGreaterThan(20)
  })

  it('has one name for the switch that answers questions', () => {
    const optionsOf = ({ options, commands }: DescribedCommand): readonly string[] => [
      ...options.filter(({ doc }) => /\bask\b/.test(doc)).map(({ flags }) => flags),
      ...commands.flatMap(optionsOf),
    ]
    const named = groups.flatMap(({ commands }) => commands.flatMap(optionsOf))
    expect(new Set(named)).toEqual(new Set(['--auto-approve']))
    expect(named.length).toBeGreaterThan(8)
    expect(manPage(groups)).not.toContain('\\-yes')
  })

  it('explains the variables', () => {
    const variables = new Map(variablesOf(groups))
    for (const name of [
      'IAMCTL_SERVER',
      'IAMCTL_REALM',
      'IAMCTL_CLIENT_SECRET',
      'IAMCTL_MASTER_KEY',
    ])
      expect(variables.get(name)).toMatch(/\w/)
  })
})
