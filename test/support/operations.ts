/**
 * The work of a piece of the program in calls of functions, as V8 counts them: the number is the same on every machine
 * and under every load, unlike a time.
 */
import { Session } from 'node:inspector/promises'

/** Calls of functions in files whose address matches, from the start of the work to its end. */
export const callsIn = async (files: RegExp, work: () => Promise<unknown>): Promise<number> => {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => files.test(url))
      .flatMap(({ functions }) => functions)
      .reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0)
  } finally {
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  }
}

/**
 * By what factor the work grows when the size doubles, beyond what it costs at any size: 2 where it is linear, 4 where it is
 * quadratic.
 */
export const growth = async (
  size: number,
  count: (size: number) => Promise<number>,
): Promise<number> => {
  const [one, two, four] = [await count(size), await count(2 * size), await count(4 * size)]
  return two === one ? 0 : (four - two) / (two - one)
}
