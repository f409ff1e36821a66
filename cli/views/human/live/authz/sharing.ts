/** What owners share of the resources of a client: shares and policies, one a line. */

import type { OwnerPolicyRecord, ShareRecord } from '#schemas/wire/records.ts'
import { note } from '../../elements/note.ts'
import { printTable } from '../../elements/table.ts'
import { moment } from '../../elements/values.ts'

interface Call {
  readonly quiet: boolean
}

const partiesOf = ({ roles, groups, clients, users }: OwnerPolicyRecord): string =>
  Object.entries({ role: roles, group: groups, client: clients, user: users })
    .flatMap(([kind, names = []]) => names.map((name) => `${kind} ${name}`))
    .join(', ')

export const showOwnerPolicies = (
  {
    client,
    realm,
    policies,
  }: {
    readonly client: string
    readonly realm: string
    readonly policies: readonly OwnerPolicyRecord[]
  },
  call: Call,
): void => {
  if (policies.length === 0)
    note(call, `no owner has a policy about a resource of client ${client}, realm ${realm}`)
  else
    printTable(
      ['policy', 'owner', 'resource', 'scopes', 'open to', 'strategy', 'id'],
      policies.map((policy) => [
        policy.name,
        policy.owner,
        policy.resource,
        policy.scopes.length === 0 ? 'all' : policy.scopes.join(', '),
        partiesOf(policy),
        policy.decisionStrategy,
        policy.id,
      ]),
    )
}

export const showShares = (
  {
    client,
    realm,
    shares,
  }: {
    readonly client: string
    readonly realm: string
    readonly shares: readonly ShareRecord[]
  },
  call: Call,
): void => {
  if (shares.length === 0)
    note(call, `no owner shares a resource of client ${client}, realm ${realm}`)
  else
    printTable(
      ['resource', 'scope', 'owner', 'user', 'state', 'since', 'id'],
      shares.map((share) => [
        share.resource,
        share.scope ?? '',
        share.owner,
        share.requester,
        share.granted ? 'shared' : 'requested',
        moment(share.createdAt),
        share.id,
      ]),
    )
}
