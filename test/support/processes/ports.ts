/** Free TCP ports on the loopback address. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below those that systems give to connections, which would take one before its server listens; no browser refuses them. */
const first = 11_000
const afterLast = 32_768

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    })
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

/** A free port; a server under test should still be given port 0 where it can report its port. */
export const freePort = async (): Promise<number> => {
  const port = randomInt(first, afterLast)
  return (await isFree(port)) ? port : freePort()
}
