/** How long the CLI takes to say its version, against a Node.js that does nothing. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Measurement } from '../../measurement.ts'
import { median, quantile, timed } from '../../statistics.ts'

const RUNS = 15
const bundle = fileURLToPath(new URL('../../../../dist/cli.js', import.meta.url))

const run = async (args: readonly string[]): Promise<number> => {
  const { ms } = await timed(async () => {
    const [code] = await once(spawn(process.execPath, args, { stdio: 'ignore' }), 'exit')
    if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`)
  })
  return ms
}

export const measureVersion: Measurement = async () => {
  const commands = {
    'node -e 0': { args: ['-e', '0'], times: [] as number[] },
    'iamctl --version': { args: [bundle, '--version'], times: [] as number[] },
  }
  // The first run of each only warms the disk and fills the compile cache.
  for (let round = 0; round <= RUNS; round += 1)
    for (const { args, times } of Object.values(commands)) {
      const ms = await run(args)
      if (round > 0) times.push(ms)
    }
  const bare = median(commands['node -e 0'].times)
  return {
    title: 'cold start of the CLI',
    notes: [`medians of ${RUNS} alternating runs; the limit is 2 × node`],
    rows: Object.entries(commands).map(([what, { times }]) => ({
      what,
      'median ms': median(times),
      'p10 ms': quantile(times, 0.1),
      'p90 ms': quantile(times, 0.9),
      '× node': median(times) / bare,
    })),
  }
}
