/** When registered clients were last used, and the deletion of unused ones. */

import { Client } from '#schemas/kinds/clients/client.ts'
import { systemCaller } from '#server/http/caller.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { provisioningOf } from '../endpoint.ts'
import { type ClientDocuments, registrant } from './client-documents.ts'
import type { RegisteredClients } from './registered-clients.ts'

export interface UsesParts {
  readonly storage: Pick<Storage, 'append'>
  readonly clock: Clock
  readonly registered: RegisteredClients
  readonly documents: ClientDocuments
}

/** Between two writes of this process about one client. */
const hourMs = 3_600_000
const mostKnown = 10_000
/** Deleted in one round; the next round takes the others. */
const mostEnded = 100
const pageSize = 100

export const createUses = ({ storage, clock, registered, documents }: UsesParts) => {
  const known = new Map<string, number>()
  return {
    /** Costs nothing for clients that did not register themselves, and little for the others. */
    note: async ({ id, document }: TokenClient): Promise<void> => {
      if (document.origin !== 'runtime') return
      const now = clock.now()
      if (now - (known.get(id) ?? Number.NEGATIVE_INFINITY) < hourMs) return
      if (known.size >= mostKnown) known.clear()
      known.set(id, now)
      await storage.append([registered.used(id, now)])
    },

    /** One that was taken into the configuration stays, and one that the configuration refers to. */
    endUnused: async (view: RealmView): Promise<void> => {
      const { unusedClientLifespan } = await provisioningOf(view)
      if (unusedClientLifespan === 0) return
      const time = clock.now() - unusedClientLifespan * 1000
      const by = {
        realm: view.realm,
        caller: registrant(systemCaller.actor, systemCaller.sourceIp),
      }
      let ended = 0
      // Clients that stay are passed over, however many they are.
      for (let after = ''; ended < mostEnded; ) {
        const page = await registered.unusedSince(view.realm, time, { after, most: pageSize })
        for (const id of page) {
          const document = await view.byId(Client.kind, id)
          if (document?.origin === 'runtime' && (await documents.removeIfFree(by, document)))
            ended += 1
        }
        const last = page.at(-1)
        if (last === undefined || page.length < pageSize) return
        after = last
      }
    },
  }
}
