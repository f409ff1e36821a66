/** The one place of the CLI that knows the server; nothing of it is loaded before a command asks for it. */

import type { Finding } from '#schemas/wire/findings.ts'
import { rotated, started } from '../../views/human/machine/server.ts'

type Given = Readonly<Record<string, unknown>>

export const startServer = async (flags: Given): Promise<void> => {
  const { serve } = await import('#server/run/main.ts')
  await serve({ flags, env: process.env, onReady: started })
}

export const rotateKey = async (flags: Given): Promise<void> => {
  const { rotate } = await import('#server/run/main.ts')
  rotated(await rotate({ flags, env: process.env }))
}

export const operations = () => import('#server/run/operations.ts')

/** What the checks of the server find, by the variables alone: for `iamctl doctor`. */
export const checkLocalServer = async (
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Finding[]> => (await operations()).checkServer({ flags: {}, env })
