/** Formats the files that paths name, or says which would change. */

import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Diagnostic } from '../diagnostics.ts'
import type { FoundEstate } from '../load/estate.ts'
import { findFiles } from '../load/files.ts'
import { decodeText } from '../load/paths.ts'
import type { Source } from '../load/yaml/source.ts'
import { format } from './format.ts'
import { replaceText } from './save.ts'

export interface FmtOptions {
  readonly paths: readonly string[]
  readonly cwd: string
  readonly found: FoundEstate
  readonly check: boolean
  readonly stdin?: AsyncIterable<Uint8Array | string>
}

export interface FmtOutcome {
  /** Files that were changed or, of a check, would be. */
  readonly changed: readonly string[]
  readonly unchanged: readonly string[]
  /** Valid files that are left as they are, and why. */
  readonly left: readonly { readonly file: string; readonly reason: string }[]
  readonly diagnostics: readonly Diagnostic[]
  /** Of standard input. */
  readonly text: string | null
  textOf(file: string): string | undefined
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/** Overlays are part of an estate, although only those that are named are applied. */
const withOverlays = async (paths: readonly string[]): Promise<string[]> => {
  const all: string[] = []
  for (const path of paths) {
    all.push(path)
    const overlays = join(path, 'overlays')
    if (path !== '-' && (await isFolder(overlays))) all.push(overlays)
  }
  return all
}

const pathsOf = async ({ paths, cwd, found }: FmtOptions): Promise<string[]> => {
  const { estate } = found
  if (paths.length > 0)
    return withOverlays(paths.map((path) => (path === '-' ? path : resolve(cwd, path))))
  const named = [...(estate.paths ?? ['realms']), ...estate.overlays]
  const all = await withOverlays(named.map((path) => resolve(estate.root, path)))
  const overlays = join(estate.root, 'overlays')
  return (await isFolder(overlays)) ? [...all, overlays] : all
}

/** Whether the file still holds what was read: an editor may have saved meanwhile. */
const isAsRead = async ({ path, text }: Source): Promise<boolean> =>
  path !== null && decodeText(await readFile(path)) === text

export const formatFiles = async (options: FmtOptions): Promise<FmtOutcome> => {
  const { cwd, found, check, stdin } = options
  const { sources, diagnostics: missing } = await findFiles(await pathsOf(options), {
    cwd,
    root: found.estate.root,
    stdin,
  })
  const diagnostics: Diagnostic[] = [...missing]
  const changed: string[] = []
  const unchanged: string[] = []
  const left: { file: string; reason: string }[] = []
  let printed: string | null = null
  // JSON has a form of its own, and comments in none.
  const formattable = sources.filter(({ file }) => !file.endsWith('.json'))
  for (const source of formattable) {
    const { file, path } = source
    const result = format(source)
    if (result.status === 'invalid') diagnostics.push(...result.diagnostics)
    else if (result.status === 'left') left.push({ file, reason: result.reason })
    else if (!result.changed) unchanged.push(file)
    else if (check || path === null) changed.push(file)
    else if (await isAsRead(source)) {
      await replaceText(path, result.text)
      changed.push(file)
    } else left.push({ file, reason: 'it was changed concurrently' })
    if (path === null && !check) printed = result.status === 'formatted' ? result.text : source.text
  }
  const texts = new Map(sources.map(({ file, text }) => [file, text]))
  return { changed, unchanged, left, diagnostics, text: printed, textOf: (file) => texts.get(file) }
}
