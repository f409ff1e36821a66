/** Files that only their owner may read, replaced as a whole. */

import { renameSync, rmSync, writeFileSync } from 'node:fs'

export const writePrivately = (file: string, text: string): void => {
  const next = `${file}.${process.pid}`
  rmSync(next, { force: true })
  writeFileSync(next, text, { mode: 0o600, flag: 'wx' })
  renameSync(next, file)
}
