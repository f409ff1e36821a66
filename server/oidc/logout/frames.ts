/** The pages of clients that sign the user out in the browser (OIDC Front-Channel Logout 1.0). */

import { Client, displayNameOf } from '#schemas/kinds/clients/client.ts'
import { withQuery } from '#server/http/query.ts'
import type { FramesOf } from '#server/sessions/front-channel.ts'
import { clientsOfSession } from '#server/sessions/session-clients.ts'
import type { Storage } from '#server/storage/contract.ts'
import { clientOf } from '#server/tokens/client.ts'

export const createFramesOf =
  (storage: Pick<Storage, 'db'>): FramesOf =>
  async ({ view, url }, sid) => {
    const ids = await clientsOfSession(storage, sid)
    const documents = await Promise.all(ids.map((id) => view.byId(Client.kind, id)))
    return documents.flatMap((document) => {
      if (!document) return []
      const { doc } = clientOf(document)
      const { frontchannelLogout, frontchannelLogoutUri } = doc
      return frontchannelLogout && frontchannelLogoutUri !== undefined
        ? [
            {
              application: displayNameOf(doc),
              url: withQuery(frontchannelLogoutUri, new URLSearchParams({ iss: url, sid })),
            },
          ]
        : []
    })
  }
