/** The repository that a new estate lies in: pipelines are looked for at its root alone. */

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The nearest folder with a `.git` (a file in worktrees and submodules), from a folder upwards that need not exist yet. */
export const repositoryOf = (folder: string): string | null => {
  if (existsSync(join(folder, '.git'))) return folder
  const above = dirname(folder)
  return above === folder ? null : repositoryOf(above)
}
