/** Applies the files once: generates missing secrets first, and checks the pages afterwards. */

import { basename } from 'node:path'
import { own } from '#schemas/own.ts'
import type { SyncOutcome } from '../apply/sync.ts'
import { estateFileName } from '../load/files.ts'
import type { Loaded } from '../load/loaded.ts'
import type { ReadFiles } from '../planning/estate/files.ts'
import type { DevFiles, Env } from './files.ts'
import type { Happening, Occasion } from './happenings.ts'
import type { MadeUpSecrets } from './made-up-secrets.ts'
import { type ApplyOutcome, brokenOutcome, toldOutcome } from './outcome.ts'
import type { DevConnection } from './server/connection.ts'
import { environmentNames, testUsers } from './test-users.ts'
import type { WatchPlan } from './watcher.ts'

export interface ApplyingParts {
  readonly files: DevFiles
  readonly env: Env
  readonly secrets: MadeUpSecrets
  readonly show: (happening: Happening) => void
  readonly watch: (plan: WatchPlan) => void
}

export interface Applying {
  /** What can be done while the server is not there yet. */
  prepare(): Promise<void>
  /** Does not fail: what goes wrong is in the outcome. */
  apply(connection: DevConnection, occasion: Occasion): Promise<ApplyOutcome>
}

export const createApplying = ({ files, env, secrets, show, watch }: ApplyingParts): Applying => {
  let estate: ReadFiles['estate'] | undefined

  // Pipelines and shells pass unset variables as empty ones.
  const isUnset = (name: string): boolean => (own(env, name) ?? '') === ''
  const madeUp = (name: string): string | undefined =>
    isUnset(name) ? secrets.valueOf(name) : undefined

  /** Whether there were any to make up. */
  const makeUp = (loaded: Loaded): boolean => {
    const names = secrets.ensure([...environmentNames(loaded)].filter(isUnset))
    if (names.length > 0) show({ type: 'secrets-made', names, file: secrets.file })
    return names.length > 0
  }
  const environment = (): Env => ({
    ...env,
    ...Object.fromEntries(secrets.names().map((name) => [name, madeUp(name) ?? own(env, name)])),
  })

  const prepare = async (): Promise<void> => {
    const read = await files.read(env)
    estate = read.estate
    watch(files.watched(read.estate, read.loaded))
    makeUp(read.loaded)
  }

  const mayMoveEstate = (occasion: Occasion): boolean =>
    occasion.why === 'asked' ||
    (occasion.why === 'saved' &&
      occasion.files.some((file) => file === estate?.file || basename(file) === estateFileName))

  const sync = async ({ api }: DevConnection, occasion: Occasion): Promise<SyncOutcome> => {
    if (estate === undefined || mayMoveEstate(occasion)) await prepare()
    let outcome = await files.sync(api, environment())
    const { loaded } = outcome
    if (loaded === null) return outcome
    // Names that came with this change.
    if (makeUp(loaded)) outcome = await files.sync(api, environment())
    if (estate !== undefined) watch(files.watched(estate, loaded))
    return outcome
  }

  const attempt = async (connection: DevConnection, occasion: Occasion): Promise<ApplyOutcome> => {
    const begun = performance.now()
    const passed = (): number => Math.round(performance.now() - begun)
    try {
      return toldOutcome(await sync(connection, occasion), passed())
    } catch (error) {
      return brokenOutcome(error, passed())
    }
  }

  const tellRealms = async (connection: DevConnection, loaded: Loaded): Promise<void> => {
    const links = await Promise.all(loaded.realms.map(({ realm }) => connection.linksOf(realm)))
    const realms = links.filter((one) => one !== null)
    const users = testUsers(loaded, madeUp).filter(({ realm }) =>
      realms.some((one) => one.realm === realm),
    )
    show({ type: 'realms', realms, users })
  }

  return {
    prepare,
    async apply(connection, occasion) {
      show({ type: 'applying', occasion })
      const outcome = await attempt(connection, occasion)
      show({ type: 'synced', occasion, outcome })
      // Of files that are not valid, the last ones that were stay what the server has.
      if (outcome.loaded !== null && outcome.status !== 'invalid')
        await tellRealms(connection, outcome.loaded).catch(() => undefined)
      return outcome
    },
  }
}
