/**
 * Notification of users about a CIBA request (CIBA Core §8): a message to their enrolled devices or, if none can be reached,
 * a mail. Both lead to the page for approvals, which shows the client and the request; a device also gets the id of the
 * request, to decide on it with its key. The message itself cannot approve anything.
 */

import { displayNameOf } from '#schemas/kinds/clients/client.ts'
import {
  type ReachableDevicesParts,
  reachableDevices,
} from '#server/credentials/devices/reachable-devices.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Post } from '#server/users/messages/post.ts'

export type CibaMessageParts = ReachableDevicesParts & {
  readonly post: Pick<Post, 'statements' | 'wake'>
}

export interface CibaQuestion {
  /** As users call it. */
  readonly id: string
  readonly client: TokenClient
  readonly user: UserRow
  /** After that nothing is left to decide. */
  readonly expiresAt: number
}

export const approvalsPath = '/approvals'

const templateKey = 'ciba-request'

export const createCibaMessage =
  (parts: CibaMessageParts) =>
  async (
    { name: realm, view, url }: Issuer,
    { id, client, user, expiresAt }: CibaQuestion,
  ): Promise<Statement[]> => {
    const { post, messaging } = parts
    const link = `${url}${approvalsPath}`
    const application = displayNameOf(client.doc)
    const letter = {
      realm,
      user,
      templateKey,
      values: { application, link },
      cause: { by: 'client', clientId: client.id },
      expiresAt,
    } as const
    const devices = await reachableDevices(parts, view, user, templateKey)
    if (devices.length > 0)
      return devices.flatMap(({ token, driver }) =>
        post.statements({
          ...letter,
          channel: 'PUSH',
          to: token,
          driver,
          data: { link, realm, request: id },
        }),
      )
    if (
      user.email === null ||
      !(await messaging.ready(view, { channel: 'EMAIL', templateKey })).ready
    )
      return []
    return post.statements({ ...letter, channel: 'EMAIL', to: user.email })
  }

export type CibaMessage = ReturnType<typeof createCibaMessage>
