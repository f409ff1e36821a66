/** The contexts that an estate's `iamctl.yaml` names. Read only where there is such a file. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '#schemas/json-schema.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { type Context, contextOf } from './store.ts'

export interface EstateContexts {
  readonly file: string
  readonly defaultContext: string | null
  readonly contexts: Readonly<Record<string, Context>>
}

/** `given` is what --config or its variable says; else the file of the folder, if there is one. */
export const readEstateContexts = async (
  folder: string,
  given: string | undefined,
): Promise<EstateContexts | null> => {
  const file = given ?? join(folder, 'iamctl.yaml')
  if (given === undefined && !existsSync(file)) return null
  const { load } = await import('js-yaml')
  let value: unknown
  try {
    value = load(readFileSync(file, 'utf8'))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    throw new CommandError(exitCodes.invalid, `${file}: ${reason}`, { cause })
  }
  const written = isObject(value) ? value : {}
  const contexts = isObject(written['contexts']) ? written['contexts'] : {}
  const chosen = written['defaultContext']
  return {
    file,
    defaultContext: typeof chosen === 'string' ? chosen : null,
    contexts: Object.fromEntries(
      Object.entries(contexts).map(([name, context]) => [name, contextOf(context)]),
    ),
  }
}
