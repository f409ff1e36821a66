/** POST …/user-federation/{alias}/check: what would keep users of a directory from signing in. */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { Problem } from '#schemas/problems.ts'
import type { Finding } from '#schemas/wire/findings.ts'
import { type Directory, directoryOf, isDirectory } from '#server/directories/directory.ts'
import type { Vault } from '#server/keys/vault.ts'
import { type Action, bodyOf } from '../action.ts'

export interface CheckActionParts {
  readonly check: (directory: Directory) => Promise<readonly Finding[]>
  readonly vault: Pick<Vault, 'reveal'>
}

const finding = bodyOf(
  {
    check: { type: 'string' },
    status: { type: 'string', enum: ['ok', 'warning', 'error'] },
    message: { type: 'string' },
    remedy: { type: 'string' },
  },
  ['check', 'status', 'message'],
)

export const checkDirectory = ({ check, vault }: CheckActionParts): Action => ({
  operationId: 'check-directory',
  method: 'POST',
  path: '/user-federation/:alias/check',
  permission: 'manage-identity-providers',
  resourceType: 'user-federation',
  planning: true,
  events: [],
  summary: 'Connects to a directory, binds and searches once, and tells what would fail',
  reply: { status: 200, schema: { type: 'array', items: finding } },
  handle: async ({ view, params: { alias = '' } }) => {
    const document = await view.get(IdentityProvider.kind, alias)
    if (!document || !isDirectory(document))
      throw new Problem('not-found', `there is no directory "${alias}"`)
    return check(directoryOf(document, vault))
  },
})
