/** Free TCP ports on the loopback address. */
import { createServer } from 'node:net'

/**
 * A free port. The system hands ports out in turn, so a second caller does not get the same one soon; a server under test
 * should still be given port 0 where it can report its port.
 */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port)
        else reject(new Error('the system gave no port'))
      })
    })
  })
