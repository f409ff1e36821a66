/** The accounts of a user at identity providers: list, link, unlink. The names of paths and fields are Keycloak's. */

import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { isDirectory } from '#server/directories/directory.ts'
import { linkIssuer } from '#server/directories/linked-user.ts'
import { findIn } from '#server/realm/read/find.ts'
import { ConstraintError, GuardFailedError } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { type Links, linkRecords } from '#server/users/links/links.ts'
import { type Action, type ActionContext, bodyOf, noContent } from '../action.ts'
import { type UserParts, userEvent, userIn, userToChange } from './users.ts'

interface Parts extends UserParts {
  readonly links: Pick<Links, 'ofUser' | 'link' | 'unlink'>
}

const record = bodyOf({
  identityProvider: { type: 'string', description: 'Its alias.' },
  issuer: { type: 'string' },
  userId: { type: 'string', description: 'The subject there.' },
  userName: { type: ['string', 'null'] },
  linkedAt: { type: 'integer' },
  lastLoginAt: { type: ['integer', 'null'] },
})

const line = { type: 'string', minLength: 1, maxLength: 500 } as const
const path = '/users/:userId/federated-identity'
const onePath = `${path}/:alias`
const common = { permission: 'manage-users', resourceType: 'users' } as const

const providerIn = ({ view, params }: ActionContext) =>
  findIn(view, IdentityProvider, params['alias'] ?? '')

const listLinked = (parts: Parts): Action => ({
  ...common,
  operationId: 'list-linked-identities',
  method: 'GET',
  path,
  permission: 'view-users',
  summary: 'Accounts of the user at identity providers',
  reply: { status: 200, schema: { type: 'array', items: record } },
  handle: async (context) => {
    const user = await userIn(parts, context)
    return linkRecords(context.view, await parts.links.ofUser(user.id))
  },
})

const link = (parts: Parts): Action => ({
  ...common,
  operationId: 'link-identity',
  method: 'POST',
  events: ['ADMIN_UPDATE'],
  path: onePath,
  summary: 'Links the user with an account at the identity provider',
  body: bodyOf({ userId: line, userName: line, issuer: line }, ['userId']),
  reply: noContent,
  handle: async (context) => {
    const user = await userToChange(parts, context)
    const provider = await providerIn(context)
    const { alias, config, protocol } = contentOf<IdentityProviderDoc>(provider)
    const isOfDirectory = isDirectory(provider)
    const own = isOfDirectory ? linkIssuer : (config.issuer ?? config.idpEntityId)
    const { userId, userName, issuer = own } = context.body
    if (isOfDirectory && issuer !== linkIssuer)
      throw invalid([
        {
          field: '/issuer',
          code: 'enum',
          message: `must be "${linkIssuer}" or absent for ${protocol}: userId is the id of the entry`,
        },
      ])
    if (issuer === undefined)
      throw invalid([
        { field: '/issuer', code: 'required', message: 'is required: the provider names none' },
      ])
    const account = {
      issuer: String(issuer),
      // Ids of entries are compared in lower case.
      subject: isOfDirectory ? String(userId).toLowerCase() : String(userId),
      username: userName === undefined ? undefined : String(userName),
      userId: user.id,
    }
    try {
      await parts.recorder.commit(
        parts.links.link({ realm: context.realm, id: provider.id, alias }, [account]),
        [userEvent(context, 'ADMIN_UPDATE', user.id, `identity of ${alias} linked`)],
      )
    } catch (error) {
      if (!(error instanceof ConstraintError) || error.table !== 'federated_links') throw error
      throw new Problem(
        'conflict',
        `the account, or another one of ${alias}, is linked already; remove that link first`,
      )
    }
  },
})

const unlink = (parts: Parts): Action => ({
  ...common,
  operationId: 'unlink-identity',
  method: 'DELETE',
  events: ['ADMIN_UPDATE'],
  path: onePath,
  summary: 'Removes the link with the account at the identity provider',
  reply: noContent,
  handle: async (context) => {
    const user = await userToChange(parts, context)
    const alias = context.params['alias'] ?? ''
    const rows = await parts.links.ofUser(user.id)
    const records = await linkRecords(context.view, rows)
    // Also of a provider that was deleted.
    const row = rows.find((_, index) => records[index]?.identityProvider === alias)
    const missing = new Problem('not-found', `the user has no link with "${alias}"`)
    if (!row) throw missing
    try {
      await parts.recorder.commit(
        [parts.links.unlink(row)],
        [userEvent(context, 'ADMIN_UPDATE', user.id, `identity of ${alias} unlinked`)],
      )
    } catch (error) {
      throw error instanceof GuardFailedError ? missing : error
    }
  },
})

export const linkedIdentityActions = (parts: Parts): readonly Action[] => [
  listLinked(parts),
  link(parts),
  unlink(parts),
]
