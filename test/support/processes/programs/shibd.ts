/** The daemon of Shibboleth's service provider, in a folder of its own. Apache's module reads the same configuration. */
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { spawnScript } from '../processes.ts'
import { endGroup } from './answers.ts'
import { pathOf } from './programs.ts'

export interface Shibd {
  readonly log: () => string
  readonly close: () => Promise<void>
}

/** Resolves when its socket is there. */
export const startShibd = async (
  configuration: string,
  socket: string,
  pidFile: string,
): Promise<Shibd> => {
  const shibd = spawnScript('-F', ['-f', '-c', configuration, '-p', pidFile], {
    runtime: [pathOf('shibd')],
  })
  while (!existsSync(socket)) {
    if (shibd.child.exitCode !== null) throw new Error(`shibd ended: ${shibd.stderr()}`)
    await setTimeout(50)
  }
  return { log: shibd.stderr, close: () => endGroup(shibd) }
}
