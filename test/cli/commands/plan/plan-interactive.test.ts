/** `iamctl plan --interactive` on a terminal: go through, open, search, approve, or leave it. */
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Item } from '#cli/views/human/browse/items.ts'
import {
  type Browsing,
  beginBrowsing,
  type Press,
  press,
  rowsOf,
  windowStart,
} from '#cli/views/human/browse/state.ts'
import { bundle } from '../../../support/processes/cli.ts'
import { onTerminal } from '../../../support/processes/terminal.ts'
import { type Estate, newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const file = (realm: string, roles: readonly string[]): string =>
  [`realm: ${realm}`, 'roles:', ...roles.map((role) => `  - ${role}`), ''].join('\n')

const first = ['{ name: reader, description: Reads everything. }', '{ name: writer }']

const browse = ({ folder, env }: Estate, ...more: string[]) => {
  const command = [process.execPath, bundle, 'plan', 'realm.yaml', '--interactive', ...more]
  const terminal = onTerminal(command, { env, cwd: folder })
  return { ...terminal, text: () => stripVTControlCharacters(terminal.screen()) }
}

const enter = '\r'
const down = '\u001b[B'

describe('plan --interactive', () => {
  it('opens what is pressed, searches, and applies what is approved', async () => {
    const realm = newRealm()
    const estate = newEstate(world(), { 'realm.yaml': file(realm, first) })
    const { type, waitFor, exited, text } = browse(estate)
    await waitFor('a approve')
    expect(text()).toContain('2 to add, 0 to change, 0 to destroy')
    expect(text()).toContain(`▸ + role "reader" will be created`)
    expect(text()).not.toContain('Reads everything.')
    type(down)
    type(enter)
    await waitFor('Reads everything.')
    type('/')
    await waitFor('esc ends the search')
    type('writ')
    type(enter)
    await waitFor('"writ": 1 (esc shows all)')
    type('a')
    await waitFor('Apply complete! Documents: 2 added, 0 changed, 0 destroyed.')
    expect(await exited).toBe(0)
    expect((await estate.run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
  })

  it('asks for the name of the realm where something is destroyed', async () => {
    const realm = newRealm()
    const estate = newEstate(world(), { 'realm.yaml': file(realm, first) })
    await estate.run('apply realm.yaml --auto-approve')
    estate.write({ 'realm.yaml': file(realm, first.slice(0, 1)) })
    const { type, waitFor, exited } = browse(estate)
    await waitFor('a approve')
    type('a')
    await waitFor('Its name: ')
    type(`${realm}\n`)
    await waitFor('1 destroyed')
    expect(await exited).toBe(0)
  })

  it('changes nothing where it is left, and then tells so by its exit code', async () => {
    const realm = newRealm()
    const estate = newEstate(world(), { 'realm.yaml': file(realm, first) })
    const left = browse(estate, '--detailed-exitcode')
    await left.waitFor('a approve')
    left.type('q')
    expect(await left.exited).toBe(2)
    expect(left.text()).toContain('nothing was changed')
    // The other screen, and back.
    expect(left.screen().lastIndexOf('\u001b[?1049l')).toBeGreaterThan(
      left.screen().lastIndexOf('\u001b[?1049h'),
    )
    const interrupted = browse(estate)
    await interrupted.waitFor('a approve')
    interrupted.type('\u0003')
    expect(await interrupted.exited).toBe(130)
    expect((await estate.run('plan realm.yaml --detailed-exitcode')).code).toBe(2)
  })

  it('shows a plan that cannot be applied, and does not let it be approved', async () => {
    const realm = newRealm()
    const estate = newEstate(world(), { 'realm.yaml': file(realm, first) })
    await estate.run('apply realm.yaml --auto-approve --source another')
    const { type, waitFor, exited, text } = browse(estate)
    await waitFor('it cannot be applied')
    expect(text()).toMatch(/! error: role "reader" belongs to the source "another"/)
    type('a')
    type('q')
    expect(await exited).toBe(0)
    expect(text()).not.toContain('Apply complete')
  })

  it('needs a terminal, and is the plain plan where nothing differs', async () => {
    const realm = newRealm()
    const estate = newEstate(world(), { 'realm.yaml': file(realm, first) })
    const refused = await estate.run('plan realm.yaml --interactive')
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('needs a terminal') })
    await estate.run('apply realm.yaml --auto-approve')
    const { waitFor, exited } = browse(estate)
    await waitFor('No changes. The realm matches the files.')
    expect(await exited).toBe(0)
  })
})

describe('going through a plan', () => {
  const items: Item[] = ['one', 'two', 'three'].map((title) => ({
    sign: '+',
    title,
    text: title,
    lines: [1, 2].map((n) => ({ sign: '+', depth: 2, text: `${title} ${n}` })),
  }))
  const begin = beginBrowsing(items, true)
  const pressed = (state: Browsing, ...keys: readonly (Press['key'] | `'${string}`)[]): Browsing =>
    keys.reduce(
      (now, key) =>
        press(
          now,
          key.startsWith("'")
            ? { key: 'text', text: key.slice(1) }
            : { key: key as Press['key'], text: '' },
          2,
        ),
      state,
    )
  const here = (state: Browsing): string => rowsOf(state)[state.cursor]?.id ?? ''

  it('moves by rows, pages and titles, and never off the list', () => {
    expect(here(pressed(begin, 'up'))).toBe('0')
    expect(here(pressed(begin, 'down', "'j", "'j", 'down'))).toBe('2')
    expect(here(pressed(begin, 'enter', 'down', 'down'))).toBe('0.1')
    expect(here(pressed(begin, 'enter', 'tab'))).toBe('1')
    expect(here(pressed(begin, "'e", 'end', 'back-tab'))).toBe('2')
    expect(here(pressed(begin, "'e", 'page-down'))).toBe('0.1')
    expect(here(pressed(begin, 'end', 'home'))).toBe('0')
  })

  it('folds an item from any of its lines, and all at once', () => {
    const open = pressed(begin, 'down', 'enter', 'down')
    expect(rowsOf(open)).toHaveLength(5)
    expect(here(pressed(open, 'enter'))).toBe('1')
    expect(rowsOf(pressed(open, 'enter'))).toHaveLength(3)
    expect(rowsOf(pressed(begin, "'e"))).toHaveLength(9)
    expect(here(pressed(begin, "'e", 'end', "'c"))).toBe('2')
  })

  it('finds by what is in an item, and keys are letters while one types', () => {
    const found = pressed(begin, "'/", "'t", "'w", "'q", 'backspace')
    expect(found).toMatchObject({ query: 'tw', isTyping: true, outcome: null })
    expect(rowsOf(found).map(({ item }) => item)).toEqual([1])
    expect(rowsOf(pressed(found, 'enter', 'escape'))).toHaveLength(3)
    expect(pressed(begin, "'/", "'zzz", 'enter', 'enter', 'down').outcome).toBeNull()
    expect(pressed(begin, "'a").outcome).toBe('approved')
    expect(pressed(beginBrowsing(items, false), "'a").outcome).toBeNull()
  })

  it('keeps the row with the cursor on the screen', () => {
    for (const [cursor, rows, height] of [
      [0, 100, 10],
      [50, 100, 10],
      [99, 100, 10],
      [2, 3, 10],
    ] as const) {
      const start = windowStart(cursor, rows, height)
      expect(start).toBeGreaterThanOrEqual(0)
      expect(cursor - start).toBeLessThan(height)
      expect(cursor).toBeGreaterThanOrEqual(start)
    }
  })
})
