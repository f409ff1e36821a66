/** Writes the files of a new estate, all of them or none. */

import { existsSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { formats } from '#schemas/formats.ts'
import { serverAddress } from '../../client/address.ts'
import { defaultServer } from '../../context/target.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { estateFiles, secretNames, type Wish } from '../../init/files.ts'
import { showBegun } from '../../views/human/init.ts'
import { printJson } from '../../views/json/json.ts'
import { writeBelow } from '../../write-below.ts'
import { type Invocation, textOf } from '../invocation.ts'

const isRealmName = (text: string): boolean => formats['realm-name']?.test(text) === true

/** A folder is often named after what is in it; where its name cannot be a realm's, somebody must choose. */
const realmOf = (invocation: Invocation, folder: string): string => {
  const given = textOf(invocation, 'realm', 'IAMCTL_REALM')
  const name = given ?? basename(folder).toLowerCase()
  if (isRealmName(name)) return name
  throw new CommandError(exitCodes.error, `a realm cannot be called "${name}"`, {
    hint:
      given === undefined
        ? 'the folder gave the name: choose one with --realm'
        : (formats['realm-name']?.message ?? ''),
  })
}

export const init = async (invocation: Invocation, where = '.'): Promise<void> => {
  const folder = resolve(where)
  const wish: Wish = {
    template: textOf(invocation, 'template') ?? 'minimal',
    ci: textOf(invocation, 'ci'),
    realm: realmOf(invocation, folder),
    server: serverAddress(textOf(invocation, 'server', 'IAMCTL_SERVER') ?? defaultServer),
  }
  const files = await estateFiles(wish)
  const there = files.map(({ path }) => path).filter((path) => existsSync(join(folder, path)))
  if (there.length > 0)
    throw new CommandError(exitCodes.error, `nothing was written: ${there.join(', ')} exists`, {
      hint: 'name another folder: `iamctl init FOLDER`',
    })
  for (const { path, text } of files) {
    await writeBelow(folder, path, text, { overwrite: false })
  }
  const begun = {
    folder: relative(process.cwd(), folder) || '.',
    ...wish,
    ci: wish.ci ?? null,
    files: files.map(({ path }) => path),
    secrets: secretNames(files),
  }
  if (invocation.output === 'json') printJson(begun)
  else showBegun(begun, invocation)
}
