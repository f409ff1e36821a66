/** The messaging drivers of each channel, and what each needs and takes in its `config`. The list is the list of drivers. */

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

export interface DriverConfig {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

export const driverConfig: Readonly<Record<string, DriverConfig>> = {
  smtp: { required: ['host', 'port'], optional: ['username', 'secure', 'requireTls', 'ca'] },
  http: {
    required: ['url'],
    optional: ['method', 'headers', 'bodyTemplate', 'contentType', 'authHeader', 'authScheme'],
  },
  twilio: { required: ['accountSid'], optional: ['username', 'url'] },
  fcm: { required: ['projectId'], optional: ['url'] },
  apns: { required: ['keyId', 'teamId', 'topic'], optional: ['production', 'url', 'ca'] },
}
