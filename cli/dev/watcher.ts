/**
 * Reports changed files. It watches folders, never files: editors save by renaming a new file over the old one. A tree is
 * watched folder by folder, because that works on every platform and can exclude folders such as node_modules.
 */

import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { join, relative, sep } from 'node:path'

export interface WatchPlan {
  /** Folders whose every file counts, with those below them. */
  readonly trees: readonly string[]
  /** Single files, which need not exist. */
  readonly files: readonly string[]
}

export interface WatchOptions {
  readonly debounceMs: number
  /** The files of one burst of changes. */
  readonly onChange: (files: readonly string[]) => void
  readonly onTrouble: (folder: string, error: Error) => void
}

export interface Watcher {
  /** Watches this from now on, and nothing else. */
  follow(plan: WatchPlan): void
  close(): void
}

/** Folders and files of tools, and what editors leave beside the file that they write. */
const isNoise = (name: string): boolean =>
  name.startsWith('.') ||
  name === 'node_modules' ||
  name.endsWith('~') ||
  /\.(?:sw[a-p]|tmp|bak)$/.test(name) ||
  // Vim tries whether it may write into a folder.
  name === '4913' ||
  /^#.*#$/.test(name)

const isBelow = (tree: string, path: string): boolean => {
  const way = relative(tree, path)
  return way !== '..' && !way.startsWith(`..${sep}`)
}

const foldersBelow = (tree: string): string[] => {
  const found: string[] = []
  const enter = (folder: string): void => {
    try {
      const entries = readdirSync(folder, { withFileTypes: true })
      found.push(folder)
      for (const entry of entries)
        if (entry.isDirectory() && !isNoise(entry.name)) enter(join(folder, entry.name))
    } catch {
      // Gone since it was listed, or not ours to read: the loader reports it where it matters.
    }
  }
  enter(tree)
  return found
}

/** A folder that was removed and made again is another one, though its name, and perhaps its number, is the same. */
const identityOf = (folder: string): string | undefined => {
  const found = statSync(folder, { throwIfNoEntry: false })
  return found && `${found.ino} ${found.birthtimeMs}`
}

interface Watched {
  readonly watcher: FSWatcher
  readonly identity: string | undefined
}

const parentOf = (file: string): string => join(file, '..')

export const createWatcher = ({ debounceMs, onChange, onTrouble }: WatchOptions): Watcher => {
  let plan: WatchPlan = { trees: [], files: [] }
  const watchers = new Map<string, Watched>()
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  const drop = (folder: string): void => {
    watchers.get(folder)?.watcher.close()
    watchers.delete(folder)
  }

  const counts = (path: string): boolean =>
    plan.files.includes(path) || plan.trees.some((tree) => isBelow(tree, path))

  const settle = (): void => {
    const files = [...changed].sort()
    changed.clear()
    refresh()
    onChange(files)
  }

  const noticed = (path: string): void => {
    if (!counts(path)) return
    changed.add(path)
    clearTimeout(timer)
    timer = setTimeout(settle, debounceMs)
  }

  const open = (folder: string): void => {
    try {
      const identity = identityOf(folder)
      const watcher = watch(folder, (_event, name) => {
        if (name === null) noticed(folder)
        else if (!isNoise(name) || plan.files.includes(join(folder, name)))
          noticed(join(folder, name))
      })
      watcher.on('error', () => drop(folder))
      watchers.set(folder, { watcher, identity })
    } catch (error) {
      if (error instanceof Error) onTrouble(folder, error)
    }
  }

  /** Folders come and go with every change. */
  const refresh = (): void => {
    // The parents of trees, too: a tree that is gone may come back.
    const parents = [...plan.trees, ...plan.files].map(parentOf)
    const wanted = new Set([...plan.trees.flatMap(foldersBelow), ...parents])
    for (const [folder, { identity }] of watchers)
      if (!wanted.has(folder) || identity !== identityOf(folder)) drop(folder)
    for (const folder of wanted) if (!watchers.has(folder)) open(folder)
  }

  return {
    follow(next) {
      plan = next
      refresh()
    },
    close() {
      clearTimeout(timer)
      for (const folder of [...watchers.keys()]) drop(folder)
    },
  }
}
