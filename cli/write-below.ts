/**
 * Files that are written into a folder that others can fill, such as a checkout: no link in it leads the text elsewhere
 * (CWE-59), and no name leaves it (CWE-22). The folder itself may be a link: the operator named it. Each file is written
 * beside its place and moved there once all are complete: a full disk leaves none, and those that were there as they were.
 */

import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { link, lstat, open, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CommandError, exitCodes } from './exit.ts'
import { isBelow } from './load/paths.ts'
import { makeFolder } from './make-folder.ts'
import { unwritable } from './named-file.ts'

export interface WriteOptions {
  readonly overwrite: boolean
  readonly mode?: number
}

export interface FileBelow {
  readonly folder: string
  /** It may hold folders, which are made. */
  readonly name: string
  readonly text: string | Uint8Array
}

/** A file that is complete, and not in its place yet. */
interface Draft {
  readonly place: () => Promise<void>
  readonly discard: () => Promise<void>
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

const refused = (file: string, reason: string, hint: string, cause?: unknown): CommandError =>
  new CommandError(exitCodes.error, `${file} ${reason}`, { hint, cause })

const existing = (file: string, cause?: unknown): CommandError =>
  refused(file, 'exists', 'choose another name, or give --overwrite', cause)

const found = async (file: string): Promise<Stats | undefined> => {
  try {
    return await lstat(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

const write = async (
  path: string,
  flags: number,
  text: string | Uint8Array,
  mode?: number,
): Promise<void> => {
  await using handle = await open(path, flags, mode)
  // The mask of the process is for new files, and not for one that takes the place of another. Some file systems have no modes.
  if (mode !== undefined && (await handle.stat()).isFile())
    await handle.chmod(mode).catch(() => undefined)
  await handle.writeFile(text)
}

const { O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW } = constants

/** Network shares and FAT have no hard links. */
const withoutLinks: readonly unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

/** Unlike a rename, a link never takes the place of a file that appeared meanwhile. */
const moveBesideNone = async (draft: string, file: string): Promise<void> => {
  try {
    await link(draft, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw existing(file, error)
    if (!withoutLinks.includes(codeOf(error))) throw error
    if (await found(file)) throw existing(file)
    await rename(draft, file)
  }
}

/** A file that is mounted by itself, as containers do it, takes a new text and no other file in its place. */
const moveOver = async (
  draft: string,
  file: string,
  text: FileBelow['text'],
  mode?: number,
): Promise<void> => {
  try {
    await rename(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EBUSY') throw error
    await write(file, O_WRONLY | O_TRUNC | (O_NOFOLLOW ?? 0), text, mode)
  }
}

const draftOf = async (
  file: string,
  text: string | Uint8Array,
  { overwrite, mode }: WriteOptions,
): Promise<Draft> => {
  const there = await found(file)
  if (there && !overwrite) throw existing(file)
  if (there?.isSymbolicLink())
    throw refused(file, 'is a link and is not followed', 'remove it, or name another file')
  if (there?.isDirectory()) throw refused(file, 'is a folder', 'name a file')
  if (there && !there.isFile())
    return {
      // A device or a pipe stays one. Windows has no such flag, and links there need a privilege.
      place: () => write(file, O_WRONLY | (O_NOFOLLOW ?? 0), text),
      discard: async () => undefined,
    }
  const draft = join(dirname(file), `.iamctl-${randomBytes(6).toString('hex')}`)
  const discard = (): Promise<void> => rm(draft, { force: true })
  try {
    await write(draft, O_WRONLY | O_CREAT | O_EXCL, text, mode ?? (there && there.mode & 0o7777))
  } catch (error) {
    await discard()
    throw error
  }
  return {
    place: () => (overwrite ? moveOver(draft, file, text, mode) : moveBesideNone(draft, file)),
    discard,
  }
}

/** Writes files, none of them where one cannot be written; a link in the place of one is refused and not followed. */
const writeFiles = async (
  files: readonly (readonly [file: string, text: string | Uint8Array])[],
  options: WriteOptions,
): Promise<void> => {
  const drafts: Draft[] = []
  let current = ''
  try {
    for (const [file, text] of files) {
      current = file
      drafts.push(await draftOf(file, text, options))
    }
    for (const [index, { place }] of drafts.entries()) {
      current = files[index]?.[0] ?? current
      await place()
    }
  } catch (error) {
    throw unwritable(current, error)
  } finally {
    for (const { discard } of drafts) await discard()
  }
}

export const writeHere = (
  file: string,
  text: string | Uint8Array,
  options: WriteOptions,
): Promise<void> => writeFiles([[file, text]], options)

/** Where a path leads, as far as it exists. */
const nearestReal = async (path: string): Promise<string> => {
  try {
    return await realpath(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    return nearestReal(dirname(path))
  }
}

/** Makes the folders of a file. */
const placeBelow = async ({ folder, name }: FileBelow): Promise<string> => {
  const file = join(folder, name)
  if (!isBelow(resolve(folder), resolve(file)) || resolve(folder) === resolve(file))
    throw refused(file, `lies outside of ${folder}`, 'check the name of the realm')
  makeFolder(folder)
  const root = await realpath(folder)
  const parent = dirname(file)
  if (!isBelow(root, await nearestReal(parent)))
    throw refused(parent, 'is a link that leads elsewhere', 'remove it, or name another folder')
  makeFolder(parent)
  return file
}

/** Writes files below folders, all of them or none. */
export const writeBelow = async (
  files: readonly FileBelow[],
  options: WriteOptions,
): Promise<void> => {
  const placed: (readonly [string, string | Uint8Array])[] = []
  for (const file of files) placed.push([await placeBelow(file), file.text])
  await writeFiles(placed, options)
}
