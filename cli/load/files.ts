/** The files that paths name: a file, a folder tree, or standard input. */

import type { Stats } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Diagnostic } from '../diagnostics.ts'
import { type OwnFile, ownFile } from './own-files.ts'
import { decodeText, isBelow, reasonOf, shownPath } from './paths.ts'
import { createSource, type Source } from './yaml/source.ts'

/** The file that describes an estate; it is never part of a realm. */
export const estateFileName = 'iamctl.yaml'

const mostBytes = 64 * 1024 * 1024

export interface FoundFiles {
  readonly sources: readonly Source[]
  readonly diagnostics: readonly Diagnostic[]
  /** Whether a single file, or standard input, was named rather than folders alone. */
  readonly namedFiles: boolean
}

export interface FindOptions {
  readonly cwd: string
  /** Links must not lead out of it. */
  readonly root: string
  /** Folders and files that a folder tree does not include, absolute: the overlays. */
  readonly apart?: readonly string[]
  readonly stdin?: AsyncIterable<Uint8Array | string> | undefined
  /** Texts that files shall have, by absolute path, instead of what they hold. */
  readonly texts?: ReadonlyMap<string, string> | undefined
}

export const isRealmFile = (name: string): boolean =>
  /\.(?:ya?ml|json)$/.test(name) && !name.endsWith('.schema.json') && name !== estateFileName

/** `overlays` is where the parts for environments lie: they are named one by one. */
const isSkippedFolder = (name: string): boolean => name === 'node_modules' || name === 'overlays'

const textProblem = (file: string, bytes: Uint8Array): Diagnostic => {
  const text = new TextDecoder('utf-8').decode(bytes)
  return {
    severity: 'error',
    code: 'file-encoding',
    message: `${file} is not UTF-8`,
    place: createSource(file, text).placeAt(Math.max(0, text.indexOf('\ufffd'))),
    hint: 'save it as UTF-8',
  }
}

const allOf = async (stream: AsyncIterable<Uint8Array | string>): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

/** A link that leads nowhere is no folder. */
const isFolder = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

const byName = (a: { name: string }, b: { name: string }): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0

const missingHint = 'name files or folders, or create an estate with `iamctl init`'

/** Files in the order in which they are named, those of a folder sorted by name; each only once. */
export const findFiles = async (
  paths: readonly string[],
  { cwd, root, apart = [], stdin, texts }: FindOptions,
): Promise<FoundFiles> => {
  const sources: Source[] = []
  const diagnostics: Diagnostic[] = []
  const seen = new Set<string>()
  const skipped = new Set(apart)
  /** Named on purpose, and no realm file: those of a folder are skipped without a word. */
  const owns: [string, OwnFile][] = []
  let namedFiles = false

  const fail = (code: string, path: string, problem: string, hint?: string): void => {
    const message = `${shownPath(cwd, path)} ${problem}`
    diagnostics.push({ severity: 'error', code, message, ...(hint === undefined ? {} : { hint }) })
  }

  const addText = (file: string, path: string | null, bytes: Uint8Array, isNamed = true): void => {
    const text = decodeText(bytes)
    if (text === undefined) return void diagnostics.push(textProblem(file, bytes))
    const own = ownFile(text)
    if (own === undefined) sources.push(createSource(file, text, path))
    else if (isNamed) owns.push([file, own])
  }

  const addFile = async (path: string, found: Stats, isNamed: boolean): Promise<void> => {
    if (found.size > mostBytes) return fail('file-too-large', path, 'is larger than 64 MiB')
    const given = texts?.get(path)
    if (given === undefined) addText(shownPath(cwd, path), path, await readFile(path), isNamed)
    else sources.push(createSource(shownPath(cwd, path), given, path))
  }

  /** Whether a path is to be read, and for the first time: its links stay inside. */
  const enter = async (path: string, fence: string): Promise<boolean> => {
    const real = await realpath(path)
    if (!isBelow(fence, real)) {
      fail('file-outside', path, 'is a link that leads out of the estate')
      return false
    }
    if (seen.has(real)) return false
    seen.add(real)
    return true
  }

  const addFolder = async (folder: string, fence: string): Promise<void> => {
    for (const { name } of (await readdir(folder, { withFileTypes: true })).sort(byName)) {
      const path = join(folder, name)
      if (name.startsWith('.') || skipped.has(path)) continue
      await guarded(path, async () => {
        if (await isFolder(path)) {
          if (!isSkippedFolder(name) && (await enter(path, fence))) await addFolder(path, fence)
        } else if (isRealmFile(name)) {
          const found = await stat(path)
          if (found.isFile() && (await enter(path, fence))) await addFile(path, found, false)
        }
      })
    }
  }

  const guarded = async (path: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act()
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error
      const isMissing = 'code' in error && error.code === 'ENOENT'
      if (isMissing) fail('file-missing', path, reasonOf(error), missingHint)
      else fail('file-unreadable', path, reasonOf(error))
    }
  }

  const addNamed = async (path: string): Promise<void> => {
    const found = await stat(path)
    if (found.isDirectory()) {
      // What is named on purpose may lie outside of the estate; links in it may not lead out of it, then.
      const fence = await realpath(isBelow(root, path) ? root : path)
      if (await enter(path, fence)) await addFolder(path, fence)
      return
    }
    namedFiles = true
    if (basename(path) === estateFileName)
      return fail('estate-is-no-realm', path, 'describes the estate and holds no realm')
    // A pipe, such as the shell makes for <(command), has no name of its own.
    if (!found.isFile()) return addText(shownPath(cwd, path), path, await readFile(path))
    const fence = isBelow(root, path) ? await realpath(root) : await realpath(path)
    if (await enter(path, fence)) await addFile(path, found, true)
  }

  for (const path of paths) {
    if (path === '') {
      // An unset variable of a script would otherwise mean the whole folder.
      const message = 'a path is empty'
      diagnostics.push({ severity: 'error', code: 'file-missing', message })
      continue
    }
    if (path !== '-') {
      const full = resolve(cwd, path)
      await guarded(full, () => addNamed(full))
      continue
    }
    namedFiles = true
    if (stdin === undefined)
      diagnostics.push({
        severity: 'error',
        code: 'file-missing',
        message: 'there is no standard input to read',
      })
    else if (!seen.has('-')) addText('<stdin>', null, await allOf(stdin))
    seen.add('-')
  }
  for (const [file, { is, hint }] of owns)
    diagnostics.push({
      // A pattern of the shell names whatever lies there.
      ...(sources.length === 0
        ? { severity: 'error', code: 'file-is-no-realm' }
        : { severity: 'warning', code: 'file-skipped' }),
      message: `${file} ${is}, not a realm file`,
      hint: hint(file),
    })
  return { sources, diagnostics, namedFiles }
}
