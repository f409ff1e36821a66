/**
 * THE list of commands, one line each, in the order of the help. A command is one file (`<noun>/<verb>.ts`) with its
 * arguments and flags, what it does, and a view per output format; its line goes here.
 */

import { type AddCommand, noun } from '../invocation/command.ts'
import { listAgents } from './agents/list.ts'
import { activateAgent, attestAgent, suspendAgent } from './agents/move.ts'
import { reviewAgents } from './agents/review.ts'
import { revokeAgent } from './agents/revoke.ts'
import { evaluateAuthz } from './authz/evaluate.ts'
import { listOwnerPolicies } from './authz/owner-policies.ts'
import { listShares } from './authz/shares.ts'
import { initialToken } from './clients/initial-token.ts'
import { clientSecret } from './clients/secret.ts'
import { syncDirectory } from './directories/sync.ts'
import { adopt } from './estate/adopt.ts'
import { apply } from './estate/apply.ts'
import { dev } from './estate/dev.ts'
import { drift } from './estate/drift.ts'
import { explain } from './estate/explain.ts'
import { fmt } from './estate/fmt.ts'
import { init } from './estate/init.ts'
import { plan } from './estate/plan.ts'
import { reconcile } from './estate/reconcile.ts'
import { schema } from './estate/schema.ts'
import { validate } from './estate/validate.ts'
import { events } from './events/list.ts'
import { createInvitation } from './invitations/create.ts'
import { listInvitations } from './invitations/list.ts'
import { revokeInvitation } from './invitations/revoke.ts'
import { deleteKey } from './keys/delete.ts'
import { listKeys } from './keys/list.ts'
import { pruneKeys } from './keys/prune.ts'
import { rotateKeys } from './keys/rotate.ts'
import { complete, completion } from './machine/completion.ts'
import { deleteContext } from './machine/context/delete.ts'
import { listContexts } from './machine/context/list.ts'
import { setContext } from './machine/context/set.ts'
import { chooseContext } from './machine/context/use.ts'
import { doctor } from './machine/doctor.ts'
import { login } from './machine/login.ts'
import { logout } from './machine/logout.ts'
import { whoami } from './machine/whoami.ts'
import { deleteDocument } from './realm/delete.ts'
import { exportRealm } from './realm/export.ts'
import { get } from './realm/get.ts'
import { diffRevisions } from './realm/history/diff.ts'
import { listRevisions } from './realm/history/list.ts'
import { showRevision } from './realm/history/show.ts'
import { importRealm } from './realm/import.ts'
import { rollback } from './realm/rollback.ts'
import { createScimToken } from './scim/create-token.ts'
import { listScimTokens } from './scim/list-tokens.ts'
import { reconcileScim } from './scim/reconcile.ts'
import { revokeScimToken } from './scim/revoke-token.ts'
import { scimStatus } from './scim/status.ts'
import { server } from './server/server.ts'
import { listSessions } from './sessions/list.ts'
import { revokeSessions } from './sessions/revoke.ts'
import { importUsers } from './users/import.ts'
import { lockUser, unlockUser } from './users/lock.ts'
import { setPassword } from './users/set-password.ts'
import { listDeliveries } from './webhooks/deliveries.ts'
import { redeliver } from './webhooks/redeliver.ts'
import { webhookSecret } from './webhooks/secret.ts'
import { testWebhook } from './webhooks/test.ts'

export interface CommandGroup {
  readonly heading: string
  readonly commands: readonly AddCommand[]
}

export const commandGroups: readonly CommandGroup[] = [
  {
    heading: 'Realm files:',
    commands: [init, dev, fmt, validate, plan, apply, drift, adopt, reconcile, explain, schema],
  },
  {
    heading: 'Whole realms:',
    commands: [
      noun('history', 'show the revisions of a realm: author, time, changes', [
        listRevisions,
        showRevision,
        diffRevisions,
      ]),
      rollback,
      exportRealm,
      importRealm,
    ],
  },
  {
    heading: 'Live realm:',
    commands: [
      get,
      deleteDocument,
      noun('clients', 'manage the secrets of clients, and their registration', [
        clientSecret,
        initialToken,
      ]),
      noun('authz', 'try the policies of authorization services, and list what owners share', [
        evaluateAuthz,
        listOwnerPolicies,
        listShares,
      ]),
      noun('agents', 'manage the lifecycle of agents', [
        listAgents,
        activateAgent,
        suspendAgent,
        revokeAgent,
        attestAgent,
        reviewAgents,
      ]),
      noun('users', 'manage users: passwords, locks, bulk import (`iamctl get users` lists them)', [
        setPassword,
        importUsers,
        lockUser,
        unlockUser,
      ]),
      noun('invitations', 'manage invitations to an organization', [
        listInvitations,
        createInvitation,
        revokeInvitation,
      ]),
      noun('sessions', 'list and end sessions', [listSessions, revokeSessions]),
      noun('sync', 'read users and groups from outside', [syncDirectory]),
      noun('scim', 'provision users and groups over SCIM', [
        reconcileScim,
        scimStatus,
        noun('token', 'manage the tokens of senders', [
          listScimTokens,
          createScimToken,
          revokeScimToken,
        ]),
      ]),
      events,
      noun('keys', 'manage the signing keys of a realm or a client', [
        listKeys,
        rotateKeys,
        deleteKey,
        pruneKeys,
      ]),
      noun('webhooks', 'inspect, repeat and test deliveries of webhooks', [
        listDeliveries,
        redeliver,
        testWebhook,
        webhookSecret,
      ]),
    ],
  },
  {
    heading: 'Sign-in and contexts:',
    commands: [
      login,
      logout,
      whoami,
      noun('context', 'manage contexts: named servers and realms', [
        listContexts,
        chooseContext,
        setContext,
        deleteContext,
      ]),
      doctor,
      completion,
      complete,
    ],
  },
  { heading: 'Server:', commands: [server] },
]
