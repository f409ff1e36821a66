/** Devices of a user that a message reaches now: enrolled, and of a driver that the realm can send with. */

import type { Messaging } from '#server/messaging/sender.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { DeviceAddress, Devices } from './devices.ts'

export interface ReachableDevicesParts {
  readonly devices: Pick<Devices, 'addressesOf'>
  readonly messaging: Pick<Messaging, 'ready'>
}

export const reachableDevices = async (
  { devices, messaging }: ReachableDevicesParts,
  view: RealmView,
  user: UserRow,
  templateKey: string,
): Promise<DeviceAddress[]> => {
  const addresses = await devices.addressesOf(user)
  const drivers = new Map<string, boolean>()
  for (const { driver } of addresses)
    if (!drivers.has(driver))
      drivers.set(
        driver,
        (await messaging.ready(view, { channel: 'PUSH', driver, templateKey })).ready,
      )
  return addresses.filter(({ driver }) => drivers.get(driver))
}
