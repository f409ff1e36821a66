/** The providers of a realm, in the order in which they are tried. */

import type { Channel } from '#schemas/drivers/messaging.ts'
import {
  MessagingProvider,
  type MessagingProviderDoc,
} from '#schemas/kinds/notifications/messaging-provider.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import {
  contentOf,
  type StoredDocument,
  type StoredSecret,
} from '#server/storage/documents/document.ts'
import type { Provider } from './driver.ts'

/** Opens a secret of a document; null where only its hash is kept. */
export type Reveal = (
  place: { readonly realm: string; readonly kind: string; readonly id: string },
  pointer: string,
  stored: StoredSecret,
) => string | null

export interface ConfiguredProvider extends Provider {
  readonly enabled: boolean
}

const pointer = '/secret'

const providerOf = (document: StoredDocument, reveal: Reveal): ConfiguredProvider => {
  const { channel, driver, enabled, fromAddress, fromName, config } =
    contentOf<MessagingProviderDoc>(document)
  const { id, realm, version, secrets } = document
  const sealed = secrets[pointer]
  return {
    id,
    realm,
    version,
    channel,
    driver,
    enabled,
    fromAddress,
    fromName,
    config,
    // Opened when it is used: most of them are asked only whether they are there.
    get secret() {
      return sealed === undefined ? undefined : (reveal(document, pointer, sealed) ?? undefined)
    },
  }
}

const orderOf = (document: StoredDocument): number =>
  contentOf<MessagingProviderDoc>(document).priority

/** Also those that are not enabled; the lowest priority first, by name where it is the same. */
export const providersOf = async (
  view: RealmView,
  channel: Channel,
  reveal: Reveal,
): Promise<readonly ConfiguredProvider[]> => {
  const documents = await view.list(MessagingProvider.kind)
  return documents
    .filter((document) => contentOf<MessagingProviderDoc>(document).channel === channel)
    .sort((a, b) => orderOf(a) - orderOf(b) || (a.key < b.key ? -1 : 1))
    .map((document) => providerOf(document, reveal))
}
