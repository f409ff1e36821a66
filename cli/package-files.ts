/** The files that come with the package, beside the program. */

import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** Right from source, from a chunk of the bundle and from any working folder. */
export const packageFile = (...names: readonly string[]): string => {
  const manifest = findPackageJSON(import.meta.url)
  if (manifest === undefined) throw new Error('the package of iamctl is not complete')
  return join(dirname(manifest), ...names)
}
