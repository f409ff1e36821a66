/** THE list of messaging drivers; schemas/drivers/messaging.ts says what each needs. */

import type { DriverTools, MessagingDriver } from '../driver.ts'
import { createApns } from './apns.ts'
import { createFcm } from './fcm.ts'
import { createHttpGateway } from './http.ts'
import { createSmtp } from './smtp.ts'
import { createTwilio } from './twilio.ts'

const makers = [createSmtp, createHttpGateway, createTwilio, createFcm, createApns]

/** By name. */
export const createDrivers = (tools: DriverTools): ReadonlyMap<string, MessagingDriver> =>
  new Map(makers.map((make) => make(tools)).map((driver) => [driver.name, driver]))
