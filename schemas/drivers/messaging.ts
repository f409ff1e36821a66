/** The messaging drivers of each channel. The list is the list of drivers. */

export const messagingDrivers = {
  EMAIL: ['smtp', 'http'],
  SMS: ['twilio', 'http'],
  PUSH: ['fcm', 'apns'],
} as const

export type Channel = keyof typeof messagingDrivers

export const channels = Object.keys(messagingDrivers) as [Channel, ...Channel[]]

export const driverNames = [...new Set(Object.values(messagingDrivers).flat())] as [
  string,
  ...string[],
]

/** What a driver cannot work without. */
export const requiredConfig: Readonly<Record<string, readonly string[]>> = {
  smtp: ['host', 'port'],
  http: ['url'],
  twilio: ['accountSid'],
  fcm: ['projectId'],
  apns: ['keyId', 'teamId', 'topic'],
}
