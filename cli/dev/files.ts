/** The files of a run: how they are read and applied, and what of the disk is worth watching. */

import { realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type SyncOutcome, syncFiles } from '../apply/sync.ts'
import type { Api } from '../client/api.ts'
import { estateFileName } from '../load/files.ts'
import type { Loaded } from '../load/loaded.ts'
import { type FileOptions, type ReadFiles, readFiles } from '../planning/estate/files.ts'
import type { WatchPlan } from './watcher.ts'

export type Env = FileOptions['env']

export interface DevFileOptions extends Omit<FileOptions, 'env'> {
  readonly source: string | undefined
  readonly allowExec: boolean
  readonly version: string
}

/** What the files are, and how they become realms. */
export interface DevFiles {
  read(env: Env): Promise<ReadFiles>
  sync(api: Api, env: Env): Promise<SyncOutcome>
  watched(estate: ReadFiles['estate'], loaded: Loaded): WatchPlan
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

const resolved = (paths: readonly string[], folder: string): string[] =>
  paths.map((path) => resolve(folder, path))

const filesOf = ({ realms }: Loaded): string[] => realms.flatMap(({ files }) => [...files])

/** A link is watched where it leads to, as well. */
const realPath = (path: string): string[] => {
  try {
    return [realpathSync(path)]
  } catch {
    return []
  }
}

const writtenFile = /\$\{file:([^}]+)\}/g

/** What the files take in from others. */
const includedFiles = (loaded: Loaded): string[] =>
  filesOf(loaded).flatMap((file) =>
    [...(loaded.textOf(file) ?? '').matchAll(writtenFile)].map(([, path = '']) => path),
  )

export const openDevFiles = (options: DevFileOptions): DevFiles => {
  const { cwd, overlays, varFiles } = options

  /** What was named, from where we are, unless it is the estate itself; else what that names. */
  const pathsOf = ({ root, paths }: ReadFiles['estate']): string[] => {
    const named = resolved(options.paths, cwd).filter((path) => path !== root)
    return named.length > 0 ? named : resolved(paths ?? ['realms'], root)
  }

  return {
    read: (env) => readFiles({ ...options, env }),
    sync: (api, env) => syncFiles({ ...options, env, engine: api, server: api.server }),
    watched(estate, loaded) {
      const all = [
        ...pathsOf(estate),
        ...(overlays.length > 0 ? resolved(overlays, cwd) : resolved(estate.overlays, estate.root)),
        ...resolved(varFiles, cwd),
        ...resolved(includedFiles(loaded), estate.root),
      ]
      const files = [
        ...all.filter((path) => !isFolder(path)),
        ...resolved(filesOf(loaded), cwd).flatMap(realPath),
        estate.file ?? join(estate.root, estateFileName),
      ]
      return { trees: all.filter(isFolder), files: [...new Set(files)] }
    },
  }
}
