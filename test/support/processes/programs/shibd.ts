/** The daemon of Shibboleth's service provider, in a folder of its own. Apache's module reads the same configuration. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { spawnScript } from '../processes.ts'
import { endGroup } from './answers.ts'
import { pathOf } from './programs.ts'

export interface Shibd {
  readonly log: () => string
  readonly close: () => Promise<void>
}

/** The folder has `shibboleth2.xml`, and gets `shibd.sock` and `shibd.log`. Resolves when the socket is there. */
export const startShibd = async (folder: string): Promise<Shibd> => {
  const at = (name: string): string => join(folder, name)
  const shibd = spawnScript('-F', ['-f', '-c', at('shibboleth2.xml'), '-p', at('shibd.pid')], {
    runtime: [pathOf('shibd')],
  })
  const log = (): string =>
    shibd.stderr() + (existsSync(at('shibd.log')) ? readFileSync(at('shibd.log'), 'utf8') : '')
  while (!existsSync(at('shibd.sock'))) {
    if (shibd.child.exitCode !== null) throw new Error(`shibd ended: ${log()}`)
    await setTimeout(50)
  }
  return { log, close: () => endGroup(shibd) }
}
