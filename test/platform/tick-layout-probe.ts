/** Many ticks, then a collection while there is none; prints whether V8 still has its fast code of them. */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { keepTickLayout } from '#server/platform/tuning/compiled-code.ts'

setFlagsFromString('--allow-natives-syntax')
const statusOf = new Function('of', 'return %GetOptimizationStatus(of)')
/** Of what V8 answers: the function has code of its best compiler, the only one that counts on layouts here. */
const TURBOFANNED = 1 << 6
const isFast = (): boolean => (statusOf(process.nextTick) & TURBOFANNED) !== 0

if (process.argv[2] === 'kept') keepTickLayout()
const nothing = (): void => undefined
for (let round = 0; !isFast(); round += 1) {
  if (round > 10_000) throw new Error('V8 makes no fast code of ticks')
  for (let n = 0; n < 1000; n += 1) process.nextTick(nothing)
  await turn()
}
for (let n = 0; n < 5; n += 1) {
  await new Promise((resolve) => setTimeout(resolve, 5))
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
process.nextTick(nothing)
process.stdout.write(JSON.stringify(isFast()))
