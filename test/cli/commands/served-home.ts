/** A server in this process, and a home from which the built program calls it as the administrator. */
import type { Backend } from '../../support/backends.ts'
import { type Home, newHome } from '../../support/processes/cli.ts'
import { adminPassword, startServer, type TestServer } from '../../support/server.ts'

export interface ServedHome {
  readonly server: TestServer
  readonly home: Home
  close(): Promise<void>
}

export const startServedHome = async (backend: Backend): Promise<ServedHome> => {
  const server = await startServer(backend, { listen: true })
  const home = newHome({
    IAMCTL_SERVER: server.baseUrl,
    IAMCTL_USERNAME: 'admin',
    IAMCTL_PASSWORD: adminPassword,
  })
  return {
    server,
    home,
    close: async () => {
      home.remove()
      await server.close()
    },
  }
}
