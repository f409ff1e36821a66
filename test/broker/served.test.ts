/** The list of protocols that files may name, and the code that serves them. */

import { expect, it } from 'vitest'
import { protocolNames } from '#schemas/drivers/identity-providers.ts'
import { createProtocols, type ProtocolParts } from '#server/broker/protocols/index.ts'

it('every protocol has code: a broker protocol, or a directory', () => {
  const named = createProtocols({} as ProtocolParts)
  const directories = ['ldap', 'ad']
  const without = protocolNames.filter((name) => !named(name) && !directories.includes(name))
  expect(without).toEqual([])
})
