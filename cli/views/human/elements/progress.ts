/** Progress of work that takes a while: a spinner for each step on a terminal, nothing elsewhere. */

import { harmless } from './text.ts'

export interface Step<T> {
  readonly title: string
  /** May tell how far it is, behind the title. */
  readonly work: (tell: (words: string) => void) => Promise<T>
  /** What the line says once it is done; what went wrong is the caller's to tell. */
  readonly done: (result: T) => string
}

/** Whether a person sees it. */
export const isWatched = ({ quiet }: { readonly quiet: boolean }): boolean =>
  !quiet && process.stdout.isTTY === true && process.stderr.isTTY === true

export const runSteps = async <T>(
  steps: readonly Step<T>[],
  options: { readonly quiet: boolean },
): Promise<T[]> => {
  const results: T[] = []
  if (!isWatched(options)) {
    for (const { work } of steps) results.push(await work(() => undefined))
    return results
  }
  const { Listr } = await import('listr2')
  const tasks = steps.map(({ title, work, done }) => ({
    title: harmless(title),
    task: async (_context: unknown, task: { title: string }) => {
      const result = await work((words) => {
        task.title = harmless(`${title}: ${words}`)
      })
      results.push(result)
      task.title = harmless(done(result))
    },
  }))
  await new Listr(tasks, { renderer: 'default', registerSignalListeners: false }).run()
  return results
}
