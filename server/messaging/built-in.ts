/**
 * The texts that come with the server, one file a language in `templates/messages`. Every realm is born with the English
 * ones as documents, which it may change; the other languages would be dozens of documents that are rarely changed, so they
 * stay here until a realm has a document of its own for the key, channel and language.
 */

import type { Channel } from '#schemas/drivers/messaging.ts'
import de from '../../templates/messages/de.json' with { type: 'json' }
import en from '../../templates/messages/en.json' with { type: 'json' }
import es from '../../templates/messages/es.json' with { type: 'json' }
import fr from '../../templates/messages/fr.json' with { type: 'json' }
import nl from '../../templates/messages/nl.json' with { type: 'json' }

export interface BuiltInText {
  readonly templateKey: string
  readonly channel: string
  readonly subject?: string
  readonly body: string
}

const files: Readonly<Record<string, readonly BuiltInText[]>> = { de, en, es, fr, nl }

const byPlace = new Map(
  Object.entries(files).flatMap(([locale, texts]) =>
    texts.map((text) => [`${text.templateKey}/${text.channel}/${locale}`, text] as const),
  ),
)

export const builtInText = (
  templateKey: string,
  channel: Channel,
  locale: string,
): BuiltInText | undefined => byPlace.get(`${templateKey}/${channel}/${locale}`)

/** The channel that a text of the server is for. */
export const builtInChannel = (templateKey: string): Channel | undefined =>
  en.find((text) => text.templateKey === templateKey)?.channel as Channel | undefined
