/** Files -> realms: the one way from what a person wrote to values that are checked, planned and applied. */

import { resolve } from 'node:path'
import type { Doc } from '#schemas/json-schema.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import type { Diagnostic } from '../diagnostics.ts'
import type { Estate } from './estate.ts'
import { findFiles } from './files.ts'
import type { Loaded, LoadedRealm, RealmPart } from './loaded.ts'
import { narrowed } from './narrowed.ts'
import { overlay } from './overlays.ts'
import { joinParts, type RealmParts } from './parts.ts'
import { settleReferences } from './variables/references.ts'
import { textWhereText } from './variables/text-places.ts'
import {
  fillVariables,
  foldUnknown,
  readVariables,
  unusedVariables,
  type Variables,
} from './variables/variables.ts'
import { readDocuments } from './yaml/nodes.ts'
import type { Source } from './yaml/source.ts'
import { type Node, placeAtPointer, toJson } from './yaml/tree.ts'

export interface LoadOptions {
  /** From `cwd`; none: those of the estate, else its folder `realms`. */
  readonly paths: readonly string[]
  /** --overlay, from `cwd`; none: those of the estate. */
  readonly overlays?: readonly string[]
  /** --var NAME=value. */
  readonly vars?: readonly string[]
  /** --var-file, from `cwd`. */
  readonly varFiles?: readonly string[]
  readonly cwd: string
  readonly estate: Estate
  readonly env: Readonly<Record<string, string | undefined>>
  /** What the path `-` reads. */
  readonly stdin?: AsyncIterable<Uint8Array | string>
  /** Texts that files shall have, by absolute path, instead of what they hold. */
  readonly texts?: ReadonlyMap<string, string> | undefined
}

/** Every document of some files, variables in their place. */
const readSources = (
  sources: readonly Source[],
  variables: Variables,
  diagnostics: Diagnostic[],
): Node[] =>
  sources.flatMap((source) => {
    const read = readDocuments(source)
    diagnostics.push(...read.diagnostics)
    // Most files ask for nothing, and the largest are of that sort.
    if (!source.text.includes('${')) return read.documents
    return read.documents.map((document) =>
      textWhereText(fillVariables(document, variables, diagnostics)),
    )
  })

const loadedRealm = (
  { realm, files }: RealmParts,
  node: Node,
  parts: readonly RealmPart[],
  elsewhere: readonly string[],
): LoadedRealm => {
  const value = toJson(node) as Doc
  return {
    realm,
    value,
    flat: flatten(value),
    placeOf: (pointer, what) => placeAtPointer(node, pointer, what),
    files,
    parts,
    elsewhere,
  }
}

/** The documents of one layer that name a realm, by its name. */
const partsByRealm = (documents: readonly Node[], layer: number): [string, RealmPart][] => {
  const counts = new Map<string, number>()
  return documents.flatMap((root): [string, RealmPart][] => {
    const index = counts.get(root.source.file) ?? 0
    counts.set(root.source.file, index + 1)
    const named = root.type === 'map' ? root.pairs.get('realm')?.value : undefined
    return root.type === 'map' && named?.type === 'scalar'
      ? [[String(named.value), { layer, index, root }]]
      : []
  })
}

export const loadRealms = async (options: LoadOptions): Promise<Loaded> => {
  const { cwd, estate, env, stdin } = options
  const { root } = estate
  const from = (folder: string) => (path: string) =>
    path === '-' || path === '' ? path : resolve(folder, path)
  const paths =
    options.paths.length > 0
      ? options.paths.map(from(cwd))
      : (estate.paths ?? ['realms']).map(from(root))
  const overlays = options.overlays?.length
    ? options.overlays.map(from(cwd))
    : estate.overlays.map(from(root))
  const varFiles = (options.varFiles ?? []).map(from(cwd))

  const read = await readVariables({
    flags: options.vars ?? [],
    files: varFiles,
    estate: estate.vars,
    env,
    cwd,
    root,
  })
  const { variables } = read
  const diagnostics = [...read.diagnostics]
  const texts = new Map(read.sources.map(({ file, text }) => [file, text]))
  const written: [string, RealmPart][] = []

  const partsOf = async (
    named: readonly string[],
    apart: readonly string[],
    layer: number,
  ): Promise<{ realms: readonly RealmParts[]; namedFiles: boolean }> => {
    const found = await findFiles(named, { cwd, root, apart, stdin, texts: options.texts })
    for (const { file, text } of found.sources) texts.set(file, text)
    diagnostics.push(...found.diagnostics)
    const documents = readSources(found.sources, variables, diagnostics)
    written.push(...partsByRealm(documents, layer))
    const joined = joinParts(documents)
    diagnostics.push(...joined.diagnostics)
    return { realms: joined.realms, namedFiles: found.namedFiles }
  }

  const apart = [...overlays, ...varFiles]
  const base = await partsOf(paths, apart, 0)
  const whole =
    options.paths.length === 0
      ? { realms: base.realms, elsewhere: new Map<string, string[]>(), diagnostics: [] }
      : await narrowed(base.realms, {
          cwd,
          estate,
          named: paths,
          apart,
          read: new Set(texts.keys()),
          variables,
        })
  diagnostics.push(...whole.diagnostics)
  let realms = whole.realms
  for (const [i, path] of overlays.entries()) {
    const over = await partsOf([path], varFiles, i + 1)
    const laid = overlay(realms, over.realms, {
      addRealms: !base.namedFiles,
      isPart: (realm) => (whole.elsewhere.get(realm) ?? []).length > 0,
    })
    diagnostics.push(...laid.diagnostics)
    realms = laid.realms
  }

  const loaded: LoadedRealm[] = []
  for (const joined of realms) {
    const node = await settleReferences(joined.node, { cwd, root }, diagnostics)
    const parts = written.flatMap(([name, part]) => (name === joined.realm ? [part] : []))
    loaded.push(loadedRealm(joined, node, parts, whole.elsewhere.get(joined.realm) ?? []))
  }
  // A file that could not be read may be the one that asks.
  if (!diagnostics.some(({ severity }) => severity === 'error'))
    diagnostics.push(...unusedVariables(variables))
  return {
    realms: loaded,
    diagnostics: foldUnknown(diagnostics),
    textOf: (file) => texts.get(file),
  }
}
