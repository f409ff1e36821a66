/** Runs the server and looks after it. The one place of the CLI that knows it. */

import type { Finding } from '#schemas/wire/findings.ts'
import { exitCodes } from '../exit.ts'
import { showFindings } from '../views/human/findings.ts'
import { backedUp, migrated, reset, restored, rotated, started } from '../views/human/server.ts'
import { printJson } from '../views/json/json.ts'
import type { Invocation } from './invocation.ts'

type Flags = Readonly<Record<string, unknown>>

export const start = async (flags: Flags): Promise<void> => {
  const { serve } = await import('#server/run/main.ts')
  await serve({ flags, env: process.env, onReady: started })
}

export const rotateMasterKey = async (flags: Flags): Promise<void> => {
  const { rotate } = await import('#server/run/main.ts')
  rotated(await rotate({ flags, env: process.env }))
}

const operations = () => import('#server/run/operations.ts')

/** As JSON on stdout, or told by a view. */
const answer = <T>({ output }: Invocation, result: T, tell: (result: T) => void): void => {
  if (output === 'json') printJson(result)
  else tell(result)
}

/** What the checks of the server find, by the variables alone: for `iamctl doctor`. */
export const checkLocalServer = async (env: Invocation['env']): Promise<readonly Finding[]> =>
  (await operations()).checkServer({ flags: {}, env })

export const checkConfig = async (invocation: Invocation, flags: Flags): Promise<void> => {
  const { checkServer } = await operations()
  const findings = await checkServer({ flags, env: invocation.env })
  const isFine = findings.every(({ status }) => status !== 'error')
  answer(invocation, { ok: isFine, findings }, () => showFindings(findings))
  if (!isFine) process.exitCode = exitCodes.error
}

export const backup = async (invocation: Invocation, flags: Flags, file: string): Promise<void> => {
  const { backup: run } = await operations()
  answer(invocation, await run({ flags, env: invocation.env }, file), backedUp)
}

export const restore = async (
  invocation: Invocation,
  flags: Flags,
  file: string,
): Promise<void> => {
  const { restore: run } = await operations()
  answer(invocation, await run({ flags, env: invocation.env }, file), restored)
}

export const resetAdmin = async (
  invocation: Invocation,
  flags: Flags,
  username: string,
): Promise<void> => {
  const { resetAdmin: run } = await operations()
  answer(invocation, await run({ flags, env: invocation.env }, username), reset)
}

export const migrate = async (
  invocation: Invocation,
  flags: Flags,
  dryRun: boolean,
): Promise<void> => {
  const { migrate: run } = await operations()
  answer(invocation, await run({ flags, env: invocation.env }, { dryRun }), migrated)
}
