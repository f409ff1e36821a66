/** `iamctl dev` with the example estate: from the start of the process until the realm is applied and its page answers. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../support/processes/ports.ts'
import type { Measurement } from '../../measurement.ts'
import { median, quantile } from '../../statistics.ts'

const RUNS = 5
const bundle = fileURLToPath(new URL('../../../../dist/cli.js', import.meta.url))
const example = fileURLToPath(new URL('../../../../realms.example', import.meta.url))

const timeToReady = async (): Promise<number> => {
  const begun = performance.now()
  const child = spawn(
    process.execPath,
    [bundle, 'dev', example, '-o', 'json', '--port', String(await freePort())],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const exited = once(child, 'exit')
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { type, applied } = JSON.parse(line) as { type: string; applied?: boolean }
      if (type !== 'ready') continue
      if (applied !== true) throw new Error('the example estate was not applied')
      return performance.now() - begun
    }
    throw new Error('dev ended before it was ready')
  } finally {
    child.kill('SIGTERM')
    await exited
  }
}

export const measureDev: Measurement = async () => {
  const times: number[] = []
  for (let round = 0; round < RUNS; round += 1) times.push(await timeToReady())
  return {
    title: 'iamctl dev realms.example',
    notes: [`medians of ${RUNS} runs on an empty database; the limit is 3 s`],
    rows: [
      {
        what: 'process start to ready',
        'median ms': median(times),
        'fastest ms': quantile(times, 0.01),
        'slowest ms': quantile(times, 1),
      },
    ],
  }
}
