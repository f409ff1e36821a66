/** Programs that serve HTTP: when they are ready, and how they end with all of their workers. */
import { setTimeout } from 'node:timers/promises'
import type { CliProcess } from '../processes.ts'

const answers = async (url: string): Promise<boolean> => {
  try {
    await fetch(url, { redirect: 'manual' })
    return true
  } catch {
    return false
  }
}

/** Resolves when the address answers with any status; throws when the process ends before that. */
export const untilAnswers = async (
  url: string,
  { child, stderr }: CliProcess,
  log: () => string = () => '',
): Promise<void> => {
  while (!(await answers(url))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${child.spawnfile} ended: ${stderr()}${log()}`)
    await setTimeout(50)
  }
}

/** Workers may outlive the process that started them: the whole group is ended. */
export const endGroup = async ({ child, exited }: CliProcess): Promise<void> => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGTERM')
  } catch {
    // The whole group has ended by itself.
  }
  await exited
}
