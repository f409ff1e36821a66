/** `iamctl server rotate-master-key`. */

import { plainCommand } from '../../invocation/command.ts'
import { givenOf, storageOptions } from './flags.ts'

export const rotateMasterKey = plainCommand({
  name: 'rotate-master-key',
  description: 'encrypt every secret again under a new master key',
  help: `
A key that the server generated (<data>/master.key) is replaced. If you supply the key, put the new key first and keep the old
one behind it, on every node: IAMCTL_MASTER_KEY="new,old"; run this command; then remove the old key. With PostgreSQL the
server may keep running. The command is safe to repeat after a crash.`,
  flags: storageOptions,
  run: async (values) => {
    const { rotateKey } = await import('./operations.ts')
    await rotateKey(givenOf(values))
  },
})
