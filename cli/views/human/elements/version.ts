/** The version, and nothing else loaded: scripts ask for it often. */

import manifest from '../../../../package.json' with { type: 'json' }
import { printOut } from '../../streams.ts'

export const showVersion = (): void => printOut(manifest.version)
