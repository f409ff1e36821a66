/** Programs that serve others: when they are ready, and how they end with all of their workers. */
import { connect } from 'node:net'
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

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })

/** Resolves when the port of 127.0.0.1 takes connections; throws when the process ends before that. */
export const untilListens = async (port: number, { child, stderr }: CliProcess): Promise<void> => {
  while (!(await listens(port))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${child.spawnfile} ended: ${stderr()}`)
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
