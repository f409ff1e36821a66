/**
 * Files that are named on the command line may be a part of their estate. What the other files say of the same realms is
 * looked up, so that a plan of the named ones takes nothing away that the others declare.
 */

import { readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import type { Diagnostic } from '../diagnostics.ts'
import type { Estate } from './estate.ts'
import { findFiles, isRealmFile } from './files.ts'
import { isKeycloakRealm } from './keycloak-realm.ts'
import { joinParts, type RealmParts } from './parts.ts'
import { isBelow } from './paths.ts'
import { textWhereText } from './variables/text-places.ts'
import { fillVariables, type Variables } from './variables/variables.ts'
import { readDocuments } from './yaml/nodes.ts'
import type { Source } from './yaml/source.ts'
import type { MapNode, Node, Pair } from './yaml/tree.ts'

export interface Narrowing {
  readonly cwd: string
  readonly estate: Estate
  /** Absolute, or `-`. */
  readonly named: readonly string[]
  /** Overlays and files of variables, absolute. */
  readonly apart: readonly string[]
  /** The files that were read, as they are shown. */
  readonly read: ReadonlySet<string>
  readonly variables: Variables
}

const singletons = new Set(
  sectionKinds.filter(({ shape }) => shape === 'singleton').map(({ section }) => section),
)

/** A read of a pipe or a device would wait for a writer, or never end. */
const isFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isFile() === true

/**
 * Realm files beside the named ones: all that is known of an estate that has no file of its own. A folder that is named is an
 * estate by itself.
 */
const besides = async (named: readonly string[]): Promise<string[]> => {
  const folders = new Set(named.filter(isRealmFile).map(dirname))
  const found = [...folders].map(async (folder) =>
    (await readdir(folder).catch(() => [])).filter(isRealmFile).map((name) => join(folder, name)),
  )
  const paths = (await Promise.all(found)).flat()
  const files = await Promise.all(paths.map(isFile))
  return paths.filter((_, i) => files[i])
}

const pathsOf = (estate: Estate): string[] =>
  (estate.paths ?? ['realms']).map((path) => resolve(estate.root, path))

/** Whether iamctl.yaml says that a file and the others are one estate; what merely lies beside a file may be a copy of it. */
const isOfEstate = ({ estate, named }: Narrowing): boolean => {
  const paths = pathsOf(estate)
  const isIn = (file: string): boolean => file !== '-' && paths.some((path) => isBelow(path, file))
  return estate.file !== null && named.every(isIn)
}

const otherSources = async (narrowing: Narrowing): Promise<readonly Source[]> => {
  const { cwd, estate, named, apart, read } = narrowing
  const paths = pathsOf(estate)
  const siblings = estate.file === null ? await besides(named) : []
  const { sources } = await findFiles(
    [...paths, ...siblings.filter((path) => !apart.includes(path))],
    { cwd, root: estate.root, apart },
  )
  // Each file of a realm contains the key `realm`, quoted or not.
  return sources.filter(({ file, text }) => !read.has(file) && /realm|\\u/i.test(text))
}

const realmOf = (document: Node): string | undefined => {
  const named = document.type === 'map' ? document.pairs.get('realm')?.value : undefined
  return named?.type === 'scalar' ? String(named.value) : undefined
}

/** A section without the fields that the named files give; none where one of the two has another shape. */
const lacking = (pair: Pair, { value: named }: Pair): Pair[] => {
  const { value: node } = pair
  if (node.type !== 'map' || named.type !== 'map') return []
  const pairs = [...node.pairs].filter(([field]) => !named.pairs.has(field))
  return [{ ...pair, value: { ...node, pairs: new Map(pairs) } }]
}

/**
 * A singleton is planned as a whole, also if its fields are in several files. A field that two files of an estate give is an
 * error, as in the whole estate; else the file that is named counts.
 */
const singletonsOf = (document: Node, { node }: RealmParts, ofEstate: boolean): MapNode[] => {
  if (document.type !== 'map') return []
  const pairs = [...document.pairs].flatMap(([name, pair]): [string, Pair][] => {
    if (name === 'realm') return [[name, pair]]
    const named = singletons.has(name) ? node.pairs.get(name) : undefined
    if (named === undefined) return []
    return (ofEstate ? [pair] : lacking(pair, named)).map((more) => [name, more])
  })
  return pairs.length > 1 ? [{ ...document, pairs: new Map(pairs) }] : []
}

export interface Narrowed {
  readonly realms: readonly RealmParts[]
  /** By realm: the files of the estate that hold more of it. */
  readonly elsewhere: ReadonlyMap<string, readonly string[]>
  readonly diagnostics: readonly Diagnostic[]
}

export const narrowed = async (
  realms: readonly RealmParts[],
  narrowing: Narrowing,
): Promise<Narrowed> => {
  const others: Node[] = []
  const unreadable: string[] = []
  for (const source of await otherSources(narrowing)) {
    const read = readDocuments(source)
    const { diagnostics } = read
    const documents = read.documents.filter((one) => !isKeycloakRealm(one))
    const ignored: Diagnostic[] = []
    others.push(
      ...documents.map((one) => textWhereText(fillVariables(one, narrowing.variables, ignored))),
    )
    // It may be about any realm. What merely lies beside a named file may be about something else altogether.
    if (diagnostics.length > 0 && narrowing.estate.file !== null) unreadable.push(source.file)
  }
  const ofEstate = isOfEstate(narrowing)
  const elsewhere = new Map<string, readonly string[]>()
  const diagnostics: Diagnostic[] = []
  const completed = realms.map((parts) => {
    const mine = others.filter((document) => realmOf(document) === parts.realm)
    elsewhere.set(parts.realm, [
      ...new Set([...mine.map(({ source }) => source.file), ...unreadable]),
    ])
    const more = mine.flatMap((document) => singletonsOf(document, parts, ofEstate))
    if (more.length === 0) return parts
    const joined = joinParts([parts.node, ...more])
    diagnostics.push(...joined.diagnostics)
    return { ...parts, node: joined.realms[0]?.node ?? parts.node }
  })
  return { realms: completed, elsewhere, diagnostics }
}
