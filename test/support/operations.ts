/**
 * The work of a piece of the program in calls of functions, as V8 counts them: the number is the same on every machine
 * and under every load, unlike a time.
 */
import { Session } from 'node:inspector/promises'
import { afterAll } from 'vitest'

/**
 * To begin a count costs ten times as much as to read one, and so does its end: V8 looks through the whole heap. It is begun
 * once for each test file.
 */
let counting: Session | undefined

const begin = async (): Promise<Session> => {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return session
}

afterAll(async () => {
  await counting?.post('Profiler.stopPreciseCoverage')
  counting?.disconnect()
  counting = undefined
})

/** Calls of functions in files whose address matches, for each piece of work from its start to its end. */
const callsIn = async (
  files: RegExp,
  works: readonly (() => Promise<unknown>)[],
): Promise<number[]> => {
  counting ??= await begin()
  await counting.post('Profiler.takePreciseCoverage')
  const counts: number[] = []
  for (const work of works) {
    await work()
    const { result } = await counting.post('Profiler.takePreciseCoverage')
    counts.push(
      result
        .filter(({ url }) => files.test(url))
        .flatMap(({ functions }) => functions)
        .reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0),
    )
  }
  return counts
}

/**
 * By what factor the work in some files grows when the size doubles, beyond what it costs at any size: 2 where it is linear,
 * 4 where it is quadratic. The work is prepared for each size before any is counted.
 */
export const growth = async (
  files: RegExp,
  size: number,
  prepare: (size: number) => Promise<() => Promise<unknown>>,
): Promise<number> => {
  const works: (() => Promise<unknown>)[] = []
  for (const factor of [1, 2, 4]) works.push(await prepare(factor * size))
  const [one = 0, two = 0, four = 0] = await callsIn(files, works)
  return two === one ? 0 : (four - two) / (two - one)
}
