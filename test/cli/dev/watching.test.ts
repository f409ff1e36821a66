/** Triggers of an apply in dev: saves of every kind, once each, and never two applies at a time. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRepeater } from '#cli/dev/repeater.ts'
import { createWatcher, type WatchPlan } from '#cli/dev/watcher.ts'

const emptyFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-watch-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The bursts of changes, as they come. */
const watching = (plan: WatchPlan) => {
  const bursts: (readonly string[])[] = []
  let noticed: () => void = () => undefined
  const watcher = createWatcher({
    debounceMs: 50,
    onChange: (files) => {
      bursts.push(files)
      noticed()
    },
    onTrouble: (folder, error) => {
      throw new Error(`${folder}: ${error.message}`)
    },
  })
  onTestFinished(() => watcher.close())
  watcher.follow(plan)
  const next = async (): Promise<readonly string[]> => {
    if (bursts.length === 0)
      await new Promise<void>((resolve) => {
        noticed = resolve
      })
    return bursts.shift() ?? []
  }
  return { next, bursts, watcher }
}

describe('a folder that is watched', () => {
  it('tells of a file that is written, and of several at once in one burst', async () => {
    const folder = emptyFolder()
    const { next } = watching({ trees: [folder], files: [] })
    writeFileSync(join(folder, 'a.yaml'), '1')
    writeFileSync(join(folder, 'b.yaml'), '1')
    expect(await next()).toEqual([join(folder, 'a.yaml'), join(folder, 'b.yaml')])
  })

  it('tells of a file that an editor renames over the old one, every time', async () => {
    const folder = emptyFolder()
    const file = join(folder, 'realm.yaml')
    writeFileSync(file, '0')
    const { next } = watching({ trees: [folder], files: [] })
    for (const text of ['1', '2', '3']) {
      writeFileSync(join(folder, '.realm.yaml.swp'), text)
      renameSync(join(folder, '.realm.yaml.swp'), file)
      expect(await next()).toEqual([file])
    }
  })

  it('tells of files in folders that are made later, or made again', async () => {
    const folder = emptyFolder()
    const inner = join(folder, 'acme', 'clients')
    const { next } = watching({ trees: [folder], files: [] })
    for (const round of ['first', 'second']) {
      mkdirSync(inner, { recursive: true })
      expect(await next(), round).toEqual([join(folder, 'acme')])
      writeFileSync(join(inner, 'web.yaml'), round)
      expect(await next(), round).toEqual([join(inner, 'web.yaml')])
      rmSync(join(folder, 'acme'), { recursive: true })
      expect(await next(), round).toContain(join(folder, 'acme'))
    }
  })

  it('is told of again when it was gone and is back', async () => {
    const folder = emptyFolder()
    const tree = join(folder, 'realms')
    mkdirSync(tree)
    const { next } = watching({ trees: [tree], files: [] })
    rmSync(tree, { recursive: true })
    expect(await next()).toContain(tree)
    mkdirSync(tree)
    expect(await next()).toEqual([tree])
    writeFileSync(join(tree, 'acme.yaml'), 'x')
    expect(await next()).toEqual([join(tree, 'acme.yaml')])
  })

  it('says nothing of data, packages and what editors leave behind', async () => {
    const folder = emptyFolder()
    for (const name of ['.iamctl-dev', 'node_modules', '.git']) mkdirSync(join(folder, name))
    const { next } = watching({ trees: [folder], files: [] })
    for (const name of ['.iamctl-dev/iamctl.db', 'node_modules/x.yaml', '.git/index'])
      writeFileSync(join(folder, name), 'x')
    for (const name of ['realm.yaml~', '.realm.yaml.swp', '4913', '#realm.yaml#'])
      writeFileSync(join(folder, name), 'x')
    writeFileSync(join(folder, 'realm.yaml'), 'x')
    expect(await next()).toEqual([join(folder, 'realm.yaml')])
  })
})

describe('a file that is watched', () => {
  it('is told of, also when it is only made later; its neighbours are not', async () => {
    const folder = emptyFolder()
    const file = join(folder, 'iamctl.yaml')
    const { next } = watching({ trees: [], files: [file] })
    writeFileSync(join(folder, 'other.yaml'), 'x')
    writeFileSync(file, 'x')
    expect(await next()).toEqual([file])
  })

  it('is no longer told of when another plan is followed', async () => {
    const folder = emptyFolder()
    const other = emptyFolder()
    const { next, watcher } = watching({ trees: [folder], files: [] })
    watcher.follow({ trees: [other], files: [] })
    writeFileSync(join(folder, 'a.yaml'), 'x')
    writeFileSync(join(other, 'b.yaml'), 'x')
    expect(await next()).toEqual([join(other, 'b.yaml')])
  })
})

describe('applies', () => {
  it('never overlap, and what is asked for during one leads to one more', async () => {
    let running = 0
    let most = 0
    let runs = 0
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const repeater = createRepeater(async () => {
      running += 1
      most = Math.max(most, running)
      await gates[runs++]?.promise
      running -= 1
    })
    repeater.ask()
    repeater.ask()
    repeater.ask()
    gates[0]?.resolve()
    gates[1]?.resolve()
    await repeater.idle()
    expect({ runs, most }).toEqual({ runs: 2, most: 1 })
    repeater.ask()
    await repeater.idle()
    await sleep(0)
    expect({ runs, most }).toEqual({ runs: 3, most: 1 })
  })
})
