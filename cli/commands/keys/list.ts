/** `iamctl keys list`. */

import { command } from '../../invocation/command.ts'
import { openRealm } from '../../invocation/realm.ts'
import { printJson } from '../../views/json/json.ts'
import { keyFlags } from './owner.ts'

export const listKeys = command({
  name: 'list',
  description: 'list the key that signs, and those kept for verification',
  help: '\nExample:\n  iamctl keys list --realm acme',
  flags: keyFlags,
  run: async (call) => {
    const { api, realm } = await openRealm(call)
    return api.keys.list({ realm, client: call.flags.client })
  },
  views: {
    human: async () => (await import('../../views/human/live/keys.ts')).showKeys,
    json: () => printJson,
  },
})
