/** Tags of nodes (YAML 1.2 §6.9.1): their full names, by the directives of the document. */

import type { DocumentDirective, MappingEvent, ScalarEvent, SequenceEvent } from 'js-yaml'
import type { ScalarTag } from './scalars.ts'

export type NodeEvent = ScalarEvent | SequenceEvent | MappingEvent

/** The tags that YAML itself gives to scalars other than text. */
export const scalarTags: Readonly<Record<string, ScalarTag>> = {
  '!!null': 'null',
  '!!bool': 'bool',
  '!!int': 'int',
  '!!float': 'float',
}

const yamlPrefix = 'tag:yaml.org,2002:'

/** The full name of a tag, with `!!` for the prefix of YAML's own; null where the node has none. */
export const tagOf = (
  text: string,
  directives: readonly DocumentDirective[],
  event: NodeEvent,
): string | null => {
  if (event.tagStart < 0) return null
  const written = text.slice(event.tagStart, event.tagEnd)
  const handle = /^!(?:[0-9A-Za-z-]*!)?/.exec(written)?.[0] ?? '!'
  const declared = directives.find((one) => one.kind === 'tag' && one.handle === handle)
  const prefix = declared?.kind === 'tag' ? declared.prefix : handle === '!!' ? yamlPrefix : handle
  const full = written.startsWith('!<')
    ? written.slice(2, -1)
    : prefix + written.slice(handle.length)
  return full.startsWith(yamlPrefix) ? `!!${full.slice(yamlPrefix.length)}` : full
}
