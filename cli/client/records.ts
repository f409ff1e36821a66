/** Records of the admin API as this client reads them: an older server leaves some fields out. */

import type { EventPage as CurrentEventPage } from '#schemas/wire/events.ts'
import type { Whoami as CurrentWhoami } from '#schemas/wire/records.ts'

type Without<Type, Field extends keyof Type> = Omit<Type, Field> & Partial<Pick<Type, Field>>

export type Whoami = Without<CurrentWhoami, 'adminAccess'>
export type EventPage = Without<CurrentEventPage, 'next'>

export interface EventFilter {
  readonly type?: string
  readonly actor?: string
  readonly outcome?: string
  readonly category?: string
  /** RFC 3339. */
  readonly from?: string
  readonly to?: string
}
