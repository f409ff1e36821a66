/**
 * Agents: born PENDING, with an owner who exists. Their state is data and is moved by lifecycle operations; the owner is kept
 * by id beside it, so that an agent stays the user's when the user gets another name.
 */

import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { AgentDoc } from '#schemas/kinds/provisioning/agent.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { Statement } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import {
  agentStates,
  changeAgentState,
  insertAgentStates,
  type OwnedState,
} from '#server/tokens/agents/agent-states.ts'
import { reviewDueAt, standingOf } from '#server/tokens/agents/agents.ts'
import { putNotBefore } from '#server/tokens/grants/not-before.ts'
import { foldName } from '#server/users/names.ts'
import { usersIn } from '#server/users/user-rows.ts'
import { type Draft, draftValue } from '../write/drafts.ts'
import type { Behaviour, PrepareTools } from './behaviour.ts'

const refusedOwner = (field: '/owner' | '/ownerUserId', code: string, message: string): Problem =>
  invalid([{ field, code, message }])

/** Whether a change gives an agent another owner; an old name is not looked up again. */
const namesOwner = ({ before, body }: Draft): boolean =>
  body !== null &&
  (body['owner'] !== before?.body['owner'] || body['ownerUserId'] !== before?.body['ownerUserId'])

interface Owners {
  readonly byId: ReadonlyMap<string, UserRow>
  /** Ids by folded username. */
  readonly byName: ReadonlyMap<string, string>
}

/** A user whom the same change declares; one who is there already keeps the id. */
const declaredId = (owner: string, { drafts }: PrepareTools): string | undefined => {
  const draft = drafts.find(User.kind, owner)
  return draft?.body ? draft.id : undefined
}

const ownersOf = async (drafts: readonly Draft[], tools: PrepareTools): Promise<Owners> => {
  const wanted = drafts.filter(namesOwner).map((draft) => draftValue<AgentDoc>(draft))
  const ids = wanted.flatMap(({ ownerUserId }) => ownerUserId ?? [])
  const names = wanted.flatMap(({ owner }) => (owner === undefined ? [] : [foldName(owner)]))
  const [byId, byName] = await Promise.all([
    usersIn(tools, tools.realm, 'id', ids),
    usersIn(tools, tools.realm, 'username_key', names),
  ])
  const declared = wanted.flatMap(({ owner }): [string, string][] => {
    const id = owner === undefined ? undefined : declaredId(owner, tools)
    return owner === undefined || id === undefined ? [] : [[foldName(owner), id]]
  })
  return {
    byId: new Map(byId.map((user) => [user.id, user])),
    byName: new Map([
      ...declared,
      ...byName.map((user): [string, string] => [user.username_key, user.id]),
    ]),
  }
}

/** The owner's id, null for none, or why it cannot be. The name counts: an id means nothing in another installation. */
const ownerIn = (
  { owner, ownerUserId }: AgentDoc,
  { byId, byName }: Owners,
  isNewId: boolean,
): string | null | Problem => {
  if (owner === undefined)
    return ownerUserId === undefined || byId.has(ownerUserId)
      ? (ownerUserId ?? null)
      : refusedOwner('/ownerUserId', 'missing-reference', 'there is no such user')
  const named = byName.get(foldName(owner))
  if (!named) return refusedOwner('/owner', 'missing-reference', `there is no user "${owner}"`)
  const other = isNewId && ownerUserId !== undefined ? byId.get(ownerUserId) : undefined
  return other && other.id !== named
    ? refusedOwner('/owner', 'contradiction', 'names another user than ownerUserId; leave one out')
    : named
}

/** The clients, by id, that became or ceased to be the client of an agent. */
const reboundClients = (drafts: readonly Draft[], tools: PrepareTools): ReadonlySet<string> => {
  const clients = tools.drafts.all().filter(({ kind }) => kind.kind === Client.kind)
  const idOf = (clientId: unknown, nameOf: (client: Draft) => string | undefined) =>
    clientId === undefined ? undefined : clients.find((one) => nameOf(one) === clientId)?.id
  const ids = drafts.flatMap(({ before, body }) => {
    const was = idOf(before?.body['clientId'], (one) => one.before?.key)
    const is = idOf(body?.['clientId'], (one) => one.key)
    return was === is ? [] : [was, is]
  })
  return new Set(ids.filter((id) => id !== undefined))
}

/** Ends the tokens of clients that became the client of an agent, or no longer are: the bounds of their tokens have changed. */
const endTokens = (drafts: readonly Draft[], tools: PrepareTools): Statement[] =>
  [...reboundClients(drafts, tools)].map((id) =>
    putNotBefore(tools, {
      realm: tools.realm,
      subject_kind: 'client',
      subject_id: id,
      at: tools.now,
    }),
  )

/**
 * The client of an agent that may not be used would get tokens as an ordinary client once the agent is gone or has another
 * client: it goes with the agent, or is disabled.
 */
const freedClient = (
  draft: Draft,
  state: OwnedState | undefined,
  tools: PrepareTools,
): Problem | undefined => {
  const { before, body } = draft
  const clientId = before?.body['clientId']
  if (!before || clientId === undefined || body?.['clientId'] === clientId) return undefined
  const { status } = standingOf(contentOf<AgentDoc>(before), state, tools.now)
  if (status !== 'SUSPENDED' && status !== 'REVOKED') return undefined
  const client = tools.drafts
    .all()
    .find(({ kind, before: was }) => kind.kind === Client.kind && was?.key === clientId)
  if (!client?.body || !draftValue<ClientDoc>(client).enabled || client.key === body?.['clientId'])
    return undefined
  return new Problem(
    'in-use',
    `the agent "${before.key}" is ${status}, and its client "${clientId}" would get tokens again without it; delete the client or set enabled: false, in the same change or before`,
  )
}

export const agent: Behaviour = {
  prepare: async (drafts, tools) => {
    const owners = await ownersOf(drafts, tools)
    const kept = drafts.filter(({ body }) => body !== null)
    const states = await agentStates(
      tools,
      drafts.flatMap(({ before }) => before?.id ?? []),
    )
    const ownerFor = (draft: Draft): string | null | Problem => {
      if (draft.body === null) return null
      const doc = draftValue<AgentDoc>(draft)
      if (!namesOwner(draft)) return states.get(draft.id)?.owner_user_id ?? null
      return ownerIn(doc, owners, doc.ownerUserId !== draft.before?.body['ownerUserId'])
    }
    const decided = new Map(drafts.map((draft) => [draft, ownerFor(draft)]))
    const ownerIdOf = (draft: Draft): string | null => {
      const owner = decided.get(draft)
      return typeof owner === 'string' ? owner : null
    }
    return {
      prepared: drafts.map((draft) => {
        const owner = decided.get(draft)
        const refused =
          typeof owner === 'object' && owner !== null
            ? owner
            : freedClient(draft, states.get(draft.id), tools)
        return refused ? { refused } : {}
      }),
      statements: [
        ...endTokens(drafts, tools),
        ...insertAgentStates(
          tools,
          kept
            .filter(({ before }) => !before)
            .map((draft) => ({ agent_id: draft.id, owner_user_id: ownerIdOf(draft) })),
        ),
        ...kept.flatMap((draft) => {
          const state = states.get(draft.id)
          if (!state) return []
          const { reviewEvery } = draftValue<AgentDoc>(draft)
          const since = state.last_reviewed_at ?? tools.now
          return changeAgentState(tools, draft.id, {
            owner_user_id: ownerIdOf(draft),
            next_review_at: state.status === 'ACTIVE' ? reviewDueAt(reviewEvery, since) : null,
          })
        }),
      ],
    }
  },

  present: async (documents, { db, now }) => {
    const states = await agentStates(
      { db },
      documents.map(({ id }) => id),
    )
    return documents.map((document) => {
      const state = states.get(document.id)
      return {
        status: standingOf(contentOf<AgentDoc>(document), state, now).status,
        owner: state?.owner_username ?? null,
        ownerUserId: state?.owner_user_id ?? null,
        lastReviewedAt: state?.last_reviewed_at ?? null,
        nextReviewAt: state?.next_review_at ?? null,
        lastUsedAt: state?.last_used_at ?? null,
      }
    })
  },
}
