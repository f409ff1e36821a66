/** The list of protocols that files are told of, and the code that serves them. */

import { expect, it } from 'vitest'
import { protocolNames, servedProtocols } from '#schemas/drivers/identity-providers.ts'
import { createProtocols, type ProtocolParts } from '#server/broker/protocols/index.ts'

it('every protocol that is called served has code: a broker protocol, or a directory', () => {
  const named = createProtocols({} as ProtocolParts)
  const directories = ['ldap', 'ad']
  const withCode = protocolNames.filter((name) => named(name) ?? directories.includes(name))
  expect(withCode.sort()).toEqual([...servedProtocols].sort())
})
