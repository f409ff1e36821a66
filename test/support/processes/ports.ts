/** Free TCP ports on the loopback address. */
import { createServer } from 'node:net'

/**
 * A port nobody listens on right now. The system hands them out in turn, so a second caller does not get the same
 * one soon; a server under test should still be given port 0 where it can report what it got.
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
