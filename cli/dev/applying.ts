/** Files to realms, once: secrets that nobody has set are made up first, and the pages are looked at afterwards. */

import type { ReadFiles } from '../apply/files.ts'
import type { Loaded } from '../load/loaded.ts'
import type { DevConnection } from './connection.ts'
import type { DevFiles, Env } from './files.ts'
import type { Happening, Occasion } from './happenings.ts'
import type { MadeUpSecrets } from './made-up-secrets.ts'
import { type ApplyOutcome, brokenOutcome, toldOutcome } from './outcome.ts'
import { environmentNames, testUsers } from './test-users.ts'

export interface ApplyingParts {
  readonly files: DevFiles
  readonly env: Env
  readonly secrets: MadeUpSecrets
  readonly connection: DevConnection
  readonly show: (happening: Happening) => void
  /** The files, before they are applied. */
  readonly onRead: (read: ReadFiles) => void
}

/** Does not fail: what goes wrong is in the outcome. */
export type Apply = (occasion: Occasion) => Promise<ApplyOutcome>

export const createApplying = (parts: ApplyingParts): Apply => {
  const { files, env, secrets, connection, show, onRead } = parts
  // Pipelines and shells pass on variables that nobody has set as empty ones.
  const isUnset = (name: string): boolean => (env[name] ?? '') === ''
  const madeUp = (name: string): string | undefined =>
    isUnset(name) ? secrets.valueOf(name) : undefined

  const environment = ({ loaded }: ReadFiles): Env => {
    const unset = [...environmentNames(loaded)].filter(isUnset)
    const names = secrets.ensure(unset)
    if (names.length > 0) show({ type: 'secrets-made', names, file: secrets.file })
    return { ...env, ...Object.fromEntries(unset.map((name) => [name, madeUp(name)])) }
  }

  const attempt = async (): Promise<ApplyOutcome> => {
    const begun = performance.now()
    const passed = (): number => Math.round(performance.now() - begun)
    try {
      const read = await files.read(env)
      onRead(read)
      return toldOutcome(await files.sync(connection.api, environment(read)), passed())
    } catch (error) {
      return brokenOutcome(error, passed())
    }
  }

  const tellRealms = async (loaded: Loaded): Promise<void> => {
    const links = await Promise.all(loaded.realms.map(({ realm }) => connection.linksOf(realm)))
    const realms = links.filter((one) => one !== null)
    const users = testUsers(loaded, madeUp).filter(({ realm }) =>
      realms.some((one) => one.realm === realm),
    )
    show({ type: 'realms', realms, users })
  }

  return async (occasion) => {
    show({ type: 'applying', occasion })
    const outcome = await attempt()
    show({ type: 'synced', occasion, outcome })
    // Of files that are not valid, the last ones that were stay what the server has.
    if (outcome.loaded !== null && outcome.status !== 'invalid')
      await tellRealms(outcome.loaded).catch(() => undefined)
    return outcome
  }
}
