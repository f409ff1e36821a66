/** Steps of the README, as they are written there. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { newEstate } from '../estate.ts'
import { startWorld } from '../fixture.ts'

const world = startWorld()

const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8')

/** The commands of a step of "Five minutes". */
const commandsOf = (step: number): string[] => {
  const [, text = ''] = readme.split(`**${step}. `)
  const [, block = ''] = (text.split('\n**')[0] ?? '').split(/```(?:sh|console)\n/)
  return (block.split('```')[0] ?? '')
    .split('\n')
    .map((line) => line.replace(/ +#.*$/, ''))
    .filter((line) => line.startsWith('iamctl '))
}

it('step 8 exports the realm of the steps before it, and the files plan to no changes', async () => {
  const [, yaml = ''] = readme.split('# shop.yaml\n')
  const file = (yaml.split('```')[0] ?? '').replace('suport', 'support')
  const { run } = newEstate(world(), { 'shop.yaml': file })
  const first = await run('apply shop.yaml --auto-approve')
  expect(first.code, first.stderr).toBe(0)
  const commands = commandsOf(8)
  expect(commands.map((line) => line.split(' ')[1])).toEqual(['export', 'plan'])
  for (const line of commands) {
    const { code, stdout, stderr } = await run(line.replace(/^iamctl /, ''))
    expect(code, line + stdout + stderr).toBe(0)
    if (line.startsWith('iamctl plan')) expect(stdout).toContain('No changes')
  }
})
