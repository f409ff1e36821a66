/** Addresses of devices for push messages. The token itself is stored sealed and never shown again. */

import { messagingDrivers } from '#schemas/drivers/messaging.ts'
import { endOf } from '#schemas/text/storable-text.ts'
import {
  listPushTokens,
  pushTokenContext,
  pushTokenOfDevice,
  savePushToken,
} from '#server/credentials/devices/push-tokens.ts'
import { newId } from '#server/platform/ids.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { PushTokenRow } from '#server/storage/tables/tables.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'
import { type UserParts, userEvent, userToChange } from '../users/users.ts'

export interface PushTokenParts extends UserParts {
  readonly keyring: Keyring
}

const tokenSchema = bodyOf({
  id: { type: 'string', format: 'uuid' },
  userId: { type: 'string', format: 'uuid' },
  deviceId: { type: 'string' },
  platform: { type: 'string', enum: ['android', 'ios'] },
  driver: { type: 'string' },
  tokenMasked: { type: 'string' },
  createdAt: { type: 'integer' },
  lastSeenAt: { type: ['integer', 'null'] },
})

const shown = (row: PushTokenRow) => ({
  id: row.id,
  userId: row.user_id,
  deviceId: row.device_id,
  platform: row.platform,
  driver: row.driver,
  tokenMasked: `…${row.token_hint}`,
  createdAt: row.created_at,
  lastSeenAt: row.last_seen_at,
})

const common = { resourceType: 'push-tokens', path: '/messaging/push-tokens' } as const

export const pushTokenActions = (parts: PushTokenParts): Action[] => {
  const { storage, keyring, clock, recorder } = parts
  return [
    {
      ...common,
      operationId: 'list-push-tokens',
      method: 'GET',
      permission: 'manage-realm',
      summary: 'Devices that take push messages',
      reply: { status: 200, schema: { type: 'array', items: tokenSchema } },
      handle: async ({ realm }) => (await listPushTokens(storage, realm)).map(shown),
    },
    {
      ...common,
      operationId: 'register-push-token',
      method: 'POST',
      permission: 'manage-realm',
      summary: 'Registers a device of a user, or its new token',
      body: bodyOf({
        userId: { type: 'string', minLength: 1 },
        deviceId: { type: 'string', minLength: 1, maxLength: 255 },
        platform: { type: 'string', enum: ['android', 'ios'] },
        driver: { type: 'string', enum: messagingDrivers.PUSH },
        token: { type: 'string', minLength: 16, maxLength: 4096 },
      }),
      reply: { status: 201, schema: tokenSchema },
      handle: async (context) => {
        const { realm, body } = context
        const { userId, deviceId, platform, driver, token } = asChecked<
          Record<string, string> & {
            platform: PushTokenRow['platform']
          }
        >(body)
        const user = await userToChange(parts, {
          ...context,
          params: { userId: userId ?? '' },
        })
        const before = await pushTokenOfDevice(storage, user.id, deviceId ?? '')
        const id = before?.id ?? newId()
        const row: PushTokenRow = {
          id,
          realm,
          user_id: user.id,
          device_id: deviceId ?? '',
          platform,
          driver: driver ?? '',
          token: JSON.stringify(keyring.seal(token ?? '', pushTokenContext(realm, id))),
          token_hint: endOf(token ?? '', 4),
          created_at: before?.created_at ?? clock.now(),
          last_seen_at: null,
        }
        await recorder.commit(
          [savePushToken(storage, row)],
          [{ ...userEvent(context, 'ADMIN_CREATE', id), resourceType: 'push-tokens' }],
        )
        return shown(row)
      },
    },
  ]
}
