/** `npm test` and `npm run test:operations`: the arguments go to vitest. */
import { runTwice } from './two-tries.ts'

process.exitCode = runTwice(process.argv.slice(2))
