/** The version, and nothing else loaded: scripts ask for it often. */

import manifest from '../../../../package.json' with { type: 'json' }
import { followReaders, printOut } from '../../streams.ts'

export const showVersion = (): void => {
  followReaders()
  printOut(manifest.version)
}
