/** Calls about SCIM targets. */

import type { Finding } from '#schemas/wire/findings.ts'
import type { ScimReport, ScimStanding } from '#schemas/wire/scim-targets.ts'
import { type Call, path } from '../http/call.ts'

export interface ReconcileOptions {
  readonly dryRun: boolean
  readonly allowRemovals: number | undefined
}

export const scimTargetCalls = (call: Call) => ({
  async reconcile(realm: string, target: string, options: ReconcileOptions): Promise<ScimReport> {
    const { dryRun, allowRemovals } = options
    const where = path`/admin/realms/${realm}/scim-targets/${target}/reconcile`
    const query = { dryRun, ...(allowRemovals === undefined ? {} : { allowRemovals }) }
    return (await call<ScimReport>('POST', where, { query, slow: true })).body
  },
  async status(realm: string, target: string): Promise<ScimStanding> {
    const where = path`/admin/realms/${realm}/scim-targets/${target}/status`
    return (await call<ScimStanding>('GET', where)).body
  },
  async check(realm: string, target: string): Promise<readonly Finding[]> {
    const where = path`/admin/realms/${realm}/scim-targets/${target}/check`
    return (await call<readonly Finding[]>('POST', where, { slow: true })).body
  },
})
