/**
 * Text of a file -> its documents as trees with source ranges (YAML 1.2, of which JSON is a part). Anchors, aliases and
 * merge keys are resolved here; what a realm file has no use for is an error with its place.
 */

import {
  COLLECTION_STYLE,
  type DocumentDirective,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml'
import type { Diagnostic, Place } from '../../diagnostics.ts'
import { eventsOf } from './events.ts'
import { loneDash, type Range, rangeOf } from './ranges.ts'
import { numberProblem, plainValue, taggedValue } from './scalars.ts'
import type { Source } from './source.ts'
import { syntaxError } from './syntax-errors.ts'
import { type NodeEvent, scalarTags, tagOf } from './tags.ts'
import {
  describe,
  type MapNode,
  type Node,
  type Pair,
  placeOfKey,
  placeOfNode,
  type Scalar,
} from './tree.ts'

export interface ReadDocuments {
  /** Empty documents are left out. */
  readonly documents: readonly Node[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Aliases may repeat so many nodes in one file; a file of a few lines could ask for billions. */
const mostRepeated = 1_000_000

interface Anchor {
  readonly node: Node
  /** How many nodes an alias of it repeats. */
  readonly size: number
}

type Collection = 'seq' | 'map'

export const readDocuments = (source: Source): ReadDocuments => {
  const parsed = eventsOf(source.text)
  if ('events' in parsed) return readEvents(source, parsed.events)
  return { documents: [], diagnostics: [syntaxError(source, parsed)] }
}

const readEvents = (source: Source, events: readonly Event[]): ReadDocuments => {
  const { text } = source
  const diagnostics: Diagnostic[] = []
  /** Null while the node is still being read. */
  let anchors = new Map<string, Anchor | null>()
  let directives: readonly DocumentDirective[] = []
  let at = 0
  let flowDepth = 0
  /** Behind the last token that has an offset. */
  let last = 0
  let nodes = 0
  let repeated = 0
  const keys = new Map<string, string>()

  const report = (
    code: string,
    message: string,
    place: Place,
    more: Pick<Diagnostic, 'hint' | 'related'> = {},
  ): void => {
    diagnostics.push({ severity: 'error', code, message, place, ...more })
  }

  const isOver = (): boolean => repeated > mostRepeated

  /** Thousands of entries have the same few keys: each is kept once. */
  const oneOf = (key: string): string => {
    const known = keys.get(key)
    if (known === undefined) keys.set(key, key)
    return known ?? key
  }

  const refuseTag = (event: NodeEvent): void =>
    report(
      'yaml-tag',
      `the tag ${text.slice(event.tagStart, event.tagEnd)} has no meaning here`,
      source.placeAt(event.tagStart, event.tagEnd),
      { hint: 'remove it; quotes make a value a string' },
    )

  const scalarValue = (event: ScalarEvent): Scalar => {
    const written = getScalarValue(text, event)
    const tag = tagOf(text, directives, event)
    if (tag === null) return event.style === SCALAR_STYLE.PLAIN ? plainValue(written) : written
    if (tag === '!' || tag === '!!str') return written
    const name = scalarTags[tag]
    const value = name === undefined ? undefined : taggedValue(name, written)
    if (value !== undefined) return value
    if (name === undefined) refuseTag(event)
    else
      report('yaml-tag', `the value does not match its tag ${tag}`, placeOfScalar(event), {
        hint: 'remove the tag, or write a value of its type',
      })
    return written
  }

  const placeOfScalar = (event: ScalarEvent): Place => {
    const { start, end } = rangeOf(text, event, last)
    return source.placeAt(start, end)
  }

  const keepAnchor = (event: NodeEvent, node: Node, size: number): void => {
    if (event.anchorStart >= 0)
      anchors.set(text.slice(event.anchorStart, event.anchorEnd), { node, size })
  }

  const readScalar = (event: ScalarEvent, empty: Range): Node => {
    nodes += 1
    const { start, end } = rangeOf(text, event, last, empty)
    let value = scalarValue(event)
    const problem = numberProblem(value)
    if (problem !== undefined) {
      report('yaml-number', problem, source.placeAt(start, end), { hint: 'put it in quotes' })
      value = null
    }
    last = Math.max(last, end)
    const typed = flowDepth > 0 || event.style === SCALAR_STYLE.PLAIN
    const node: Node = { type: 'scalar', source, start, end, value, typed }
    keepAnchor(event, node, 1)
    return node
  }

  const readAlias = (start: number, end: number): Node => {
    const name = text.slice(start, end)
    const place = source.placeAt(start - 1, end)
    last = end
    const anchor = anchors.get(name)
    if (anchor) {
      repeated += anchor.size
      nodes += anchor.size
      if (!isOver()) return anchor.node
      report(
        'yaml-alias-bomb',
        `the aliases of this file repeat more than ${mostRepeated.toLocaleString('en')} values`,
        place,
        { hint: 'write the values out, or split the file' },
      )
    } else if (anchor === null)
      report('yaml-alias-recursive', `*${name} is inside the node that it refers to`, place)
    else
      report('yaml-alias-unknown', `nothing above is marked with &${name}`, place, {
        hint: `mark it with &${name}, or put the value in quotes if it is text that begins with "*"`,
      })
    return { type: 'scalar', source, start: start - 1, end, value: null, typed: false }
  }

  const openCollection = (event: SequenceEvent | MappingEvent, expected: Collection): number => {
    const tag = tagOf(text, directives, event)
    if (tag !== null && tag !== '!' && tag !== `!!${expected}`) refuseTag(event)
    if (event.anchorStart >= 0) anchors.set(text.slice(event.anchorStart, event.anchorEnd), null)
    if (event.style === COLLECTION_STYLE.FLOW) flowDepth += 1
    last = Math.max(last, event.start)
    nodes += 1
    return nodes
  }

  const closeCollection = (
    event: SequenceEvent | MappingEvent,
    node: Node,
    before: number,
  ): Node => {
    at += 1
    if (event.style === COLLECTION_STYLE.FLOW) flowDepth -= 1
    keepAnchor(event, node, nodes - before + 1)
    return node
  }

  const isEnd = (): boolean => at >= events.length || events[at]?.type === EVENT_ID.POP

  const readList = (event: SequenceEvent): Node => {
    const before = openCollection(event, 'seq')
    const items: Node[] = []
    while (!isEnd() && !isOver()) {
      const next = events[at]
      const isEmpty = next?.type === EVENT_ID.SCALAR && next.valueStart < 0
      const dash = isEmpty ? (items.length === 0 ? event.start : loneDash(text, last)) : last
      items.push(readNode({ start: dash, end: dash + 1 }))
    }
    return closeCollection(event, { type: 'list', source, start: event.start, items }, before)
  }

  /** The text of a key; undefined where it is none, which is reported. */
  const keyOf = (node: Node): string | undefined => {
    if (node.type !== 'scalar' || typeof node.value !== 'string')
      report(
        'yaml-key',
        `a key must be text, and this is ${describe(node)}`,
        placeOfNode(node),
        node.type === 'scalar' ? { hint: 'put the key in quotes' } : {},
      )
    else if (node.value === '__proto__')
      report('yaml-key', 'the key __proto__ is not allowed', placeOfNode(node))
    else return oneOf(node.value)
    return undefined
  }

  const readMap = (event: MappingEvent): Node => {
    const before = openCollection(event, 'map')
    const pairs = new Map<string, Pair>()
    const merges: { readonly node: Node; readonly place: Place }[] = []
    while (!isEnd() && !isOver()) {
      const keyEvent = events[at]
      const isMerge =
        keyEvent?.type === EVENT_ID.SCALAR &&
        keyEvent.style === SCALAR_STYLE.PLAIN &&
        keyEvent.valueEnd - keyEvent.valueStart === 2 &&
        text.startsWith('<<', keyEvent.valueStart)
      const key = readNode({ start: event.start, end: event.start })
      const end = key.type === 'scalar' ? key.end : key.start
      const value = readNode({ start: key.start, end })
      if (isMerge) {
        merges.push({ node: value, place: placeOfNode(key) })
        continue
      }
      const name = keyOf(key)
      if (name === undefined) continue
      const first = pairs.get(name)
      if (first === undefined) pairs.set(name, { source, start: key.start, end, value })
      else
        report('yaml-duplicate-key', `the key "${name}" is given twice`, placeOfNode(key), {
          related: [{ message: 'first here', place: placeOfKey(first) }],
        })
    }
    for (const { node, place } of merges) mergeInto(pairs, node, place)
    return closeCollection(event, { type: 'map', source, start: event.start, pairs }, before)
  }

  /** `<<: *base` or `<<: [*first, *second]`: the map's own keys win, then the earlier map's. */
  const mergeInto = (pairs: Map<string, Pair>, node: Node, place: Place): void => {
    const maps = node.type === 'list' ? node.items : [node]
    const isMap = (one: Node): one is MapNode => one.type === 'map'
    if (!maps.every(isMap)) {
      if (!isOver())
        report(
          'yaml-merge',
          `"<<" takes a map or a list of maps, and this is ${describe(node)}`,
          place,
        )
      return
    }
    for (const map of maps)
      for (const [key, pair] of map.pairs) if (!pairs.has(key)) pairs.set(key, pair)
  }

  /** `empty` is the place of a node that nothing is written for. */
  const readNode = (empty: Range): Node => {
    if (isOver())
      return { type: 'scalar', source, start: last, end: last, value: null, typed: false }
    const event = events[at]
    at += 1
    if (event?.type === EVENT_ID.SCALAR) return readScalar(event, empty)
    if (event?.type === EVENT_ID.MAPPING) return readMap(event)
    if (event?.type === EVENT_ID.SEQUENCE) return readList(event)
    if (event?.type === EVENT_ID.ALIAS) return readAlias(event.anchorStart, event.anchorEnd)
    throw new RangeError(`the parser's event ${event?.type} does not begin a node`)
  }

  const documents: Node[] = []
  while (at < events.length && !isOver()) {
    const event = events[at]
    at += 1
    if (event?.type !== EVENT_ID.DOCUMENT) continue
    anchors = new Map()
    directives = event.directives
    const next = events[at]
    const isEmpty = next?.type === EVENT_ID.SCALAR && next.valueStart < 0 && next.tagStart < 0
    const node = readNode({ start: last, end: last })
    if (!isEmpty) documents.push(node)
  }
  return isOver() ? { documents: [], diagnostics } : { documents, diagnostics }
}
