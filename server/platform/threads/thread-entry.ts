/** The file of a worker thread: beside its caller when run from source, in `dist` when bundled. */

import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const threadEntry = (here: string, source: string, bundled: string): URL => {
  if (here.endsWith('.ts')) return new URL(source, here)
  // A bundle is cut into chunks: where this code ended up says nothing.
  const manifest = findPackageJSON(here)
  if (manifest === undefined) throw new Error(`the package that holds ${bundled} is not found`)
  return pathToFileURL(join(dirname(manifest), 'dist', bundled))
}
