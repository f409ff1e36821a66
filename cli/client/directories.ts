/** Calls about directories. */

import type { SyncReport, SyncStanding } from '#schemas/wire/directory-sync.ts'
import { type Call, path } from './http/call.ts'

export interface SyncOptions {
  readonly dryRun: boolean
  readonly full: boolean
  readonly allowRemovals: number | undefined
}

export const directoryCalls = (call: Call) => ({
  async sync(realm: string, alias: string, options: SyncOptions): Promise<SyncReport> {
    const { dryRun, full, allowRemovals } = options
    const where = path`/admin/realms/${realm}/user-federation/${alias}/sync`
    const query = { dryRun, full, ...(allowRemovals === undefined ? {} : { allowRemovals }) }
    return (await call<SyncReport>('POST', where, { query, slow: true })).body
  },
  async syncStanding(realm: string, alias: string): Promise<SyncStanding> {
    const where = path`/admin/realms/${realm}/user-federation/${alias}/sync`
    return (await call<SyncStanding>('GET', where)).body
  },
})
