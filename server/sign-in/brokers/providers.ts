/**
 * The identity providers that a sign-in may use, and those that its pages show. Left out are providers that are disabled,
 * only for linked accounts, without code, or of a closed organization or another organization than the requested one.
 */

import type { ProtocolName } from '#schemas/drivers/identity-providers.ts'
import type { IdentityProviderDoc } from '#schemas/kinds/sign-in/identity-provider.ts'
import { type ListedProvider, nameOf, type Providers } from '#server/broker/providers.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { perView } from '#server/storage/documents/kept.ts'
import {
  isOfDomain,
  type OrganizationContent,
  openOrganizationNamed,
  organizationsOfAddress,
} from '#server/users/organizations/organizations.ts'
import type { SignInState } from '../flow/state.ts'

export interface SignInProvider {
  /** Of its document. */
  readonly id: string
  readonly alias: string
  readonly name: string
  readonly protocol: ProtocolName
  readonly doc: IdentityProviderDoc
  /** The organization that it is for. */
  readonly organization: OrganizationContent | undefined
}

type Asked = Pick<SignInState, 'organizationHint' | 'name'>

export interface SignInProviders {
  /** Enabled, with code, of an open organization if of one; also for linked accounts alone. */
  find(view: RealmView, alias: string): Promise<SignInProvider | undefined>
  /** The same, by the id of its document. */
  byId(view: RealmView, id: string): Promise<SignInProvider | undefined>
  /** All that a signed-in user may link. */
  linkable(view: RealmView): Promise<readonly SignInProvider[]>
  /** Whether a sign-in may use it: whatever its pages show. */
  isUsable(provider: SignInProvider, asked: Pick<SignInState, 'organizationHint'>): boolean
  /** Whether a browser may leave for it: a hidden one takes the organization, or an address of its domains. */
  isReachable(
    provider: SignInProvider,
    asked: Pick<SignInState, 'organizationHint'>,
    address: string | undefined,
  ): boolean
  /** What the pages of a sign-in show. */
  shown(view: RealmView, asked: Asked): Promise<readonly SignInProvider[]>
  /** Those of the organizations of an address, known or not. */
  ofAddress(view: RealmView, address: string): Promise<readonly SignInProvider[]>
  /** Whether an organization has one: then pages ask for the address. */
  hasOrganizations(view: RealmView): Promise<boolean>
}

export const createSignInProviders = ({
  providers,
}: {
  readonly providers: Pick<Providers, 'list'>
}): SignInProviders => {
  const opened = async (
    view: RealmView,
    listed: ListedProvider,
  ): Promise<SignInProvider | undefined> => {
    const { id, alias, protocol, doc } = listed
    const name = nameOf(listed)
    if (doc.organization === undefined)
      return { id, alias, name, protocol, doc, organization: undefined }
    const organization = await openOrganizationNamed(view, doc.organization)
    return organization && { id, alias, name, protocol, doc, organization }
  }

  const all = perView(async (view): Promise<readonly SignInProvider[]> => {
    const listed = await providers.list(view, { kind: 'link' })
    const open = await Promise.all(listed.map((one) => opened(view, one)))
    return open.flatMap((one) => one ?? [])
  })

  /** A hidden one is for people of its organization alone. */
  const isForSignIn = ({ doc, organization }: SignInProvider): boolean =>
    !doc.linkOnly && (!doc.hideOnLogin || organization !== undefined)

  const forSignIn = async (view: RealmView): Promise<readonly SignInProvider[]> =>
    (await all(view)).filter(isForSignIn)

  const ofAddress: SignInProviders['ofAddress'] = async (view, address) => {
    const organizations = new Set((await organizationsOfAddress(view, address)).map(({ id }) => id))
    return (await forSignIn(view)).filter(
      ({ organization }) => organization !== undefined && organizations.has(organization.id),
    )
  }

  const isUsable: SignInProviders['isUsable'] = (provider, { organizationHint }) => {
    const { organization } = provider
    const isAsked = organizationHint === undefined || organization?.alias === organizationHint
    return isForSignIn(provider) && (organization === undefined || isAsked)
  }

  return {
    find: async (view, alias) => (await all(view)).find((one) => one.alias === alias),
    byId: async (view, id) => (await all(view)).find((one) => one.id === id),
    linkable: async (view) => (await all(view)).filter(({ organization }) => !organization),
    isUsable,
    isReachable: (provider, asked, address = '') => {
      const { doc, organization } = provider
      const isOwn =
        organization !== undefined &&
        (organization.alias === asked.organizationHint || isOfDomain(organization, address))
      return isUsable(provider, asked) && (!doc.hideOnLogin || isOwn)
    },
    ofAddress,
    hasOrganizations: async (view) =>
      (await forSignIn(view)).some(({ organization }) => organization !== undefined),
    shown: async (view, asked) => {
      // A name was given: the page before showed the public providers, so only that of the organization of the address remains.
      if (asked.name !== undefined)
        return (await ofAddress(view, asked.name)).filter((one) => isUsable(one, asked))
      return (await forSignIn(view)).filter(
        (one) =>
          !one.doc.hideOnLogin &&
          isUsable(one, asked) &&
          (one.organization === undefined || one.organization.alias === asked.organizationHint),
      )
    },
  }
}
