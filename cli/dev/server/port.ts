/** The port of a development server: the one that was asked for, or a free one near the usual. */

import { createServer } from 'node:net'
import { CommandError, exitCodes } from '../../exit.ts'

const usualPort = 8080
const neighbours = 20

/** The port that a server got, or undefined where it is taken. */
const tryPort = (port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(undefined) : reject(error),
    )
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const address = probe.address()
      probe.close(() =>
        resolve(typeof address === 'object' && address !== null ? address.port : undefined),
      )
    })
  })

export interface ChosenPort {
  readonly port: number
  /** The default port if it is in use and was not requested. */
  readonly instead: number | null
}

export const choosePort = async (given: number | undefined): Promise<ChosenPort> => {
  if (given !== undefined) {
    const port = await tryPort(given)
    if (port !== undefined) return { port, instead: null }
    throw new CommandError(exitCodes.error, `port ${given} on 127.0.0.1 is in use`, {
      hint: 'choose another port with --port, or leave --port out to use a free one',
    })
  }
  const near = Array.from({ length: neighbours }, (_, i) => usualPort + i)
  for (const candidate of [...near, 0]) {
    const port = await tryPort(candidate)
    if (port !== undefined) return { port, instead: port === usualPort ? null : usualPort }
  }
  throw new CommandError(exitCodes.error, 'this machine has no free port on 127.0.0.1', {
    hint: 'stop other programs, or name a port with --port',
  })
}
