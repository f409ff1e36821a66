/** The identity providers of a realm: which may be used for what, with their secrets opened. */

import type { ProtocolName } from '#schemas/drivers/identity-providers.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { perDocument } from '#server/storage/documents/kept.ts'
import type { Provider } from './protocol.ts'
import type { Purpose } from './trips/trips.ts'

export type ListedProvider = Omit<Provider, 'config'>

/** The names by which people know those that have one protocol of their own. */
const brands: Partial<Record<ProtocolName, string>> = {
  google: 'Google',
  microsoft: 'Microsoft',
  github: 'GitHub',
  apple: 'Apple',
  facebook: 'Facebook',
  gitlab: 'GitLab',
  linkedin: 'LinkedIn',
}

/** What pages call a provider. */
export const nameOf = ({
  doc,
  protocol,
  alias,
}: Pick<ListedProvider, 'doc' | 'protocol' | 'alias'>): string =>
  doc.displayName ?? brands[protocol] ?? alias

const listed = perDocument((document): ListedProvider => {
  const { realm, id } = document
  const doc = contentOf<IdentityProviderDoc>(document)
  return { realm, id, alias: doc.alias, protocol: doc.protocol, doc }
})

/** What decides whether a provider may be used. */
export type Use = Pick<Purpose, 'kind'> & { readonly organization?: string | undefined }

/**
 * Disabled is dead for everything; link-only is dead for sign-ins. A provider that is hidden on the sign-in page is reached
 * through the organization of the person alone, not by its address.
 */
const isFor = ({ doc }: ListedProvider, { kind, organization }: Use): boolean => {
  if (!doc.enabled) return false
  if (kind === 'link') return true
  return !doc.linkOnly && (!doc.hideOnLogin || organization !== undefined)
}

export const createProviders = ({
  vault,
  isServed,
}: {
  readonly vault: Pick<Vault, 'reveal'>
  /** Whether the protocol has code. */
  readonly isServed: (protocol: ListedProvider['protocol']) => boolean
}) => {
  const isUsable = (provider: ListedProvider, use: Use): boolean =>
    isServed(provider.protocol) && isFor(provider, use)

  const open = perDocument((document): Provider => {
    const { realm, kind, id, secrets } = document
    const provider = listed(document)
    const config: Record<string, unknown> = { ...provider.doc.config }
    for (const [pointer, stored] of Object.entries(secrets)) {
      const value = vault.reveal({ realm, kind, id }, pointer, stored)
      if (value !== null) config[pointer.replace('/config/', '')] = value
    }
    return { ...provider, config: config as Provider['config'] }
  })

  return {
    /** Those that may be used, by alias. */
    list: async (view: RealmView, use: Use): Promise<ListedProvider[]> =>
      (await view.list(IdentityProvider.kind))
        .map(listed)
        .filter((provider) => isUsable(provider, use))
        .sort((a, b) => a.alias.localeCompare(b.alias)),

    /** Undefined where it is not there, is disabled, or its protocol has no code. */
    find: async (view: RealmView, alias: string, use: Use): Promise<Provider | undefined> => {
      const document = await view.get(IdentityProvider.kind, alias)
      return document && isUsable(listed(document), use) ? open(document) : undefined
    },

    /** Those whose ID-JAGs the realm accepts. */
    ofIdJags: async (view: RealmView): Promise<Provider[]> =>
      (await view.list(IdentityProvider.kind))
        .filter((document) => {
          const provider = listed(document)
          const { crossApplicationAccess, linkOnly } = provider.doc
          return crossApplicationAccess && !linkOnly && isUsable(provider, { kind: 'link' })
        })
        .map(open),

    /** Whether `find` finds it, without opening its secrets. */
    has: async (view: RealmView, alias: string, use: Use): Promise<boolean> => {
      const document = await view.get(IdentityProvider.kind, alias)
      return document !== undefined && isUsable(listed(document), use)
    },

    /** Also where it may not be used any more: for its logout, and for checks. */
    findAny: async (view: RealmView, alias: string): Promise<Provider | undefined> => {
      const document = await view.get(IdentityProvider.kind, alias)
      return document && isServed(listed(document).protocol) ? open(document) : undefined
    },

    byId: async (view: RealmView, id: string): Promise<Provider | undefined> => {
      const document = await view.byId(IdentityProvider.kind, id)
      return document && isServed(listed(document).protocol) ? open(document) : undefined
    },
  }
}

export type Providers = ReturnType<typeof createProviders>
