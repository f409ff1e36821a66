/** A folder of files on disk for one test, and the realms that are loaded from it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Diagnostic } from '#cli/diagnostics.ts'
import { findEstate } from '#cli/load/estate.ts'
import { type LoadOptions, loadRealms } from '#cli/load/load.ts'
import type { Loaded } from '#cli/load/loaded.ts'

export interface Folder extends Disposable {
  readonly path: string
  write(files: Readonly<Record<string, string | Uint8Array>>): void
  /** As the commands do: the estate first, then its realms. */
  load(options?: Partial<LoadOptions>): Promise<Loaded>
}

export const createFolder = (files: Readonly<Record<string, string | Uint8Array>> = {}): Folder => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'iamctl-load-')))
  const folder: Folder = {
    path,
    write(more) {
      for (const [name, content] of Object.entries(more)) {
        mkdirSync(dirname(join(path, name)), { recursive: true })
        writeFileSync(join(path, name), content)
      }
    },
    async load(options = {}) {
      const cwd = options.cwd ?? path
      const { estate, diagnostics } = await findEstate({ cwd })
      const loaded = await loadRealms({ paths: [], cwd, estate, env: {}, ...options })
      return { ...loaded, diagnostics: [...diagnostics, ...loaded.diagnostics] }
    },
    [Symbol.dispose]() {
      rmSync(path, { recursive: true, force: true })
    },
  }
  folder.write(files)
  return folder
}

const shown = ({ place }: Diagnostic): string =>
  place === undefined ? '-' : `${place.file}:${place.line}:${place.column}`

/** `file:line:column code`, one line each, so that a table can say what is expected. */
export const brief = (diagnostics: readonly Diagnostic[]): string[] =>
  diagnostics.map((diagnostic) => `${shown(diagnostic)} ${diagnostic.code}`)
