/** Where a device's push token belongs: sealed, it does not open for another realm or record. */

export const pushTokenContext = (realm: string, id: string): string => `${realm}/push-token/${id}`
