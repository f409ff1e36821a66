/**
 * POST …/identity-providers/{alias}/check: connects to an identity provider or directory and reports what would fail at the
 * next sign-in.
 */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { Problem } from '#schemas/problems.ts'
import type { Finding } from '#schemas/wire/findings.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import { directoryOf, isDirectory } from '#server/directories/directory.ts'
import type { DirectoriesArea } from '#server/directories/open.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { type Action, bodyOf } from '../action.ts'

export interface CheckActionParts {
  readonly broker: Pick<BrokerArea, 'providers' | 'check'>
  readonly directories: Pick<DirectoriesArea, 'check'>
  readonly vault: Pick<Vault, 'reveal'>
  readonly baseUrl: string
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

export const checkProvider = (parts: CheckActionParts): Action => {
  const { broker, directories, vault, baseUrl } = parts

  const findingsOf = async (
    realm: string,
    view: RealmView,
    alias: string,
  ): Promise<readonly Finding[] | undefined> => {
    const document = await view.get(IdentityProvider.kind, alias)
    if (!document) return undefined
    if (isDirectory(document)) return directories.check(directoryOf(document, vault))
    const provider = await broker.providers.findAny(view, alias)
    return provider && broker.check({ url: `${baseUrl}/realms/${realm}` }, provider)
  }

  return {
    operationId: 'check-identity-provider',
    method: 'POST',
    path: '/identity-providers/:alias/check',
    permission: 'manage-identity-providers',
    resourceType: 'identity-providers',
    planning: true,
    events: [],
    summary: 'Connects to an identity provider or directory and tells what would fail',
    reply: { status: 200, schema: { type: 'array', items: finding } },
    handle: async ({ realm, view, params: { alias = '' } }) => {
      const findings = await findingsOf(realm, view, alias)
      if (!findings) throw new Problem('not-found', `there is no identity provider "${alias}"`)
      return findings
    },
  }
}
