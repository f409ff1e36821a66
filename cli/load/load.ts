/** Files -> realms: the one way from what a person wrote to values that are checked, planned and applied. */

import { resolve } from 'node:path'
import type { Doc } from '#schemas/json-schema.ts'
import type { Diagnostic } from '../diagnostics.ts'
import type { Estate } from './estate.ts'
import { findFiles } from './files.ts'
import type { Loaded, LoadedRealm } from './loaded.ts'
import { readDocuments } from './nodes.ts'
import { overlay } from './overlays.ts'
import { joinParts, type RealmParts } from './parts.ts'
import { settleReferences } from './references.ts'
import type { Source } from './source.ts'
import { type Node, placeAtPointer, toJson } from './tree.ts'
import { fillVariables, readVariables, unusedVariables, type Variables } from './variables.ts'

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
    return read.documents.map((document) => fillVariables(document, variables, diagnostics))
  })

const loadedRealm = ({ realm, files }: RealmParts, node: Node): LoadedRealm => ({
  realm,
  value: toJson(node) as Doc,
  placeOf: (pointer, what) => placeAtPointer(node, pointer, what),
  files,
})

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

  const partsOf = async (
    named: readonly string[],
    apart: readonly string[],
  ): Promise<{ realms: readonly RealmParts[]; namedFiles: boolean }> => {
    const found = await findFiles(named, { cwd, root, apart, stdin })
    for (const { file, text } of found.sources) texts.set(file, text)
    diagnostics.push(...found.diagnostics)
    const joined = joinParts(readSources(found.sources, variables, diagnostics))
    diagnostics.push(...joined.diagnostics)
    return { realms: joined.realms, namedFiles: found.namedFiles }
  }

  const base = await partsOf(paths, [...overlays, ...varFiles])
  let realms = base.realms
  for (const path of overlays) {
    const over = await partsOf([path], varFiles)
    const laid = overlay(realms, over.realms, { addRealms: !base.namedFiles })
    diagnostics.push(...laid.diagnostics)
    realms = laid.realms
  }

  const loaded: LoadedRealm[] = []
  for (const parts of realms)
    loaded.push(loadedRealm(parts, await settleReferences(parts.node, { cwd, root }, diagnostics)))
  // A file that could not be read may be the one that asks.
  if (!diagnostics.some(({ severity }) => severity === 'error'))
    diagnostics.push(...unusedVariables(variables))
  return { realms: loaded, diagnostics, textOf: (file) => texts.get(file) }
}
