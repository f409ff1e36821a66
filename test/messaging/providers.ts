/** Removes the messaging providers of a realm, so that tests can share the realm. */

import type { TestServer } from '../support/server.ts'

export const removeProviders = async (server: TestServer, realm: string): Promise<void> => {
  const path = `/admin/realms/${realm}/messaging/providers`
  const { body } = await server.admin.send('GET', path)
  for (const { channel, driver } of body)
    await server.admin.send('DELETE', `${path}/${channel}/${driver}`)
}
