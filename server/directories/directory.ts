/** A directory as its code sees it: the document of an identity provider with protocol `ldap` or `ad`, and every default. */

import { directoryProtocols } from '#schemas/drivers/identity-providers.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'

export interface DirectoryUrl {
  readonly host: string
  readonly port: number
  /** TLS from the first byte; StartTLS is a matter of the directory. */
  readonly secure: boolean
  readonly text: string
}

/** Where the groups of a directory are. */
export interface GroupSearch {
  readonly base: string
  readonly filter: string
  readonly membership: string
}

export interface Directory {
  /** Of the document: the same after a rename. */
  readonly id: string
  readonly realm: string
  readonly version: number
  readonly alias: string
  /** As pages call it. */
  readonly name: string
  readonly protocol: 'ldap' | 'ad'
  readonly enabled: boolean
  readonly linkOnly: boolean
  readonly trustEmail: boolean
  readonly syncMode: IdentityProviderDoc['syncMode']
  readonly urls: readonly DirectoryUrl[]
  readonly startTls: boolean
  readonly caCertificate: string | undefined
  readonly bindDn: string | undefined
  /** Opened when it is used. */
  readonly bindPassword: string | undefined
  readonly userSearchBase: string
  readonly userSearchFilter: string
  readonly attributes: {
    readonly uid: string
    readonly email: string
    readonly firstName: string
    readonly lastName: string
    readonly uuid: string
  }
  readonly groups: GroupSearch | undefined
  readonly pageSize: number
  readonly syncSchedule: string | undefined
  readonly onMissing: 'disable' | 'delete' | 'keep'
  readonly maxRemovalPercent: number
}

/** The classes of groups of RFC 4519, of Active Directory and of RFC 2307. */
const usualGroups =
  '(|(objectClass=groupOfNames)(objectClass=groupOfUniqueNames)(objectClass=group)(objectClass=posixGroup))'

const bindPasswordPointer = '/config/bindPassword'

const urlOf = (text: string): DirectoryUrl => {
  const { protocol, hostname, port } = new URL(text)
  const secure = protocol === 'ldaps:'
  return { host: hostname, port: port === '' ? (secure ? 636 : 389) : Number(port), secure, text }
}

export const isDirectory = (document: StoredDocument): boolean =>
  directoryProtocols.has(contentOf<IdentityProviderDoc>(document).protocol)

export const directoryOf = (document: StoredDocument, vault: Pick<Vault, 'reveal'>): Directory => {
  const doc = contentOf<IdentityProviderDoc>(document)
  const { config, protocol } = doc
  const { id, realm, version, secrets } = document
  const sealed = secrets[bindPasswordPointer]
  const isAd = protocol === 'ad'
  return {
    id,
    realm,
    version,
    alias: document.key,
    name: doc.displayName ?? document.key,
    protocol: isAd ? 'ad' : 'ldap',
    enabled: doc.enabled,
    linkOnly: doc.linkOnly,
    trustEmail: doc.trustEmail,
    syncMode: doc.syncMode,
    urls: (config.url ?? '').split(' ').map(urlOf),
    startTls: config.startTls ?? false,
    caCertificate: config.caCertificate,
    bindDn: config.bindDn,
    get bindPassword() {
      if (sealed === undefined) return undefined
      return vault.reveal(document, bindPasswordPointer, sealed) ?? undefined
    },
    userSearchBase: config.userSearchBase ?? '',
    userSearchFilter: config.userSearchFilter ?? '(uid={0})',
    attributes: {
      uid: config.uidAttribute ?? 'uid',
      email: config.emailAttribute ?? 'mail',
      firstName: config.firstNameAttribute ?? 'givenName',
      lastName: config.lastNameAttribute ?? 'sn',
      uuid: config.uuidAttribute ?? (isAd ? 'objectGUID' : 'entryUUID'),
    },
    groups:
      config.groupSearchBase === undefined
        ? undefined
        : {
            base: config.groupSearchBase,
            filter: config.groupFilter ?? usualGroups,
            membership: config.membershipAttribute ?? 'member',
          },
    pageSize: config.pageSize ?? 500,
    syncSchedule: config.syncSchedule,
    onMissing: config.onMissing ?? 'disable',
    maxRemovalPercent: config.maxRemovalPercent ?? 10,
  }
}

/** By alias. */
export const directoriesIn = async (
  view: RealmView,
  vault: Pick<Vault, 'reveal'>,
): Promise<readonly Directory[]> => {
  const documents = await view.list(IdentityProvider.kind)
  return documents
    .filter(isDirectory)
    .map((document) => directoryOf(document, vault))
    .sort((a, b) => (a.alias < b.alias ? -1 : 1))
}
