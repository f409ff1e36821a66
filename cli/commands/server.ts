/** Runs the server. The one place of the CLI that knows it. */

import { rotated, started } from '../views/human/server.ts'

export const start = async (flags: Record<string, unknown>): Promise<void> => {
  const { serve } = await import('#server/main.ts')
  await serve({ flags, env: process.env, onReady: started })
}

export const rotateMasterKey = async (flags: Record<string, unknown>): Promise<void> => {
  const { rotate } = await import('#server/main.ts')
  rotated(await rotate({ flags, env: process.env }))
}
