/** `iamctl.yaml`: what an estate is called, where its realms lie, what guards it and which servers it knows. */

import { readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { createValidators, fieldErrors } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { FieldError } from '#schemas/problems.ts'
import { estateSchema } from '#schemas/realm/estate.ts'
import { propertySchema } from '#schemas/walk.ts'
import type { Diagnostic } from '../diagnostics.ts'
import type { Prune } from '../planning/plan.ts'
import { compiled } from './compiled.ts'
import { estateFileName } from './files.ts'
import { didYouMean } from './nearest.ts'
import { decodeText, reasonOf, shownPath } from './paths.ts'
import { type Variable, variablesOf } from './variables/variables.ts'
import { readDocuments } from './yaml/nodes.ts'
import { createSource } from './yaml/source.ts'
import {
  describe,
  type MapNode,
  type Node,
  placeAtPointer,
  placeOfNode,
  toJson,
} from './yaml/tree.ts'

export interface Context {
  readonly server?: string
  readonly realm?: string
  readonly authRealm?: string
  readonly username?: string
}

export interface Estate {
  /** The folder of its file; where there is none, where the person is. */
  readonly root: string
  /** Absolute; null where there is no file. */
  readonly file: string | null
  /** Null where the file does not name it. */
  readonly source: string | null
  /** From the root; null where the file does not say. */
  readonly paths: readonly string[] | null
  /** From the root. */
  readonly overlays: readonly string[]
  readonly vars: ReadonlyMap<string, Variable>
  /** Realms in which other estates declare documents too. */
  readonly sharedRealms?: readonly string[] | undefined
  readonly prune: Prune
  readonly guards: { readonly maxDeletions: number | null; readonly allowEmpty: boolean }
  readonly contexts: Readonly<Record<string, Context>>
  readonly defaultContext: string | null
}

/** The file's own shape, as its schema says. */
interface Written {
  readonly source?: string
  readonly paths?: readonly string[]
  readonly overlays?: readonly string[]
  readonly sharedRealms?: readonly string[]
  readonly prune?: Prune
  readonly guards?: { readonly maxDeletions?: number; readonly allowEmpty?: boolean }
  readonly contexts?: Readonly<Record<string, Context>>
  readonly defaultContext?: string
}

export interface FoundEstate {
  readonly estate: Estate
  readonly diagnostics: readonly Diagnostic[]
  /** The text of its file, by the name that diagnostics give it. */
  textOf(file: string): string | undefined
}

const validatorOf = createValidators(compiled, { fillDefaults: false, isBrief: true })

const estateOf = (
  root: string,
  file: string | null,
  written: Written = {},
  vars: ReadonlyMap<string, Variable> = new Map(),
): Estate => ({
  root,
  file,
  source: written.source ?? null,
  paths: written.paths ?? null,
  overlays: written.overlays ?? [],
  vars,
  sharedRealms: written.sharedRealms,
  prune: written.prune ?? 'owned',
  guards: {
    maxDeletions: written.guards?.maxDeletions ?? null,
    allowEmpty: written.guards?.allowEmpty ?? false,
  },
  contexts: written.contexts ?? {},
  defaultContext: written.defaultContext ?? null,
})

/** The nearest `iamctl.yaml`, from a folder upwards. */
const fileAbove = async (folder: string): Promise<string | null> => {
  const file = join(folder, estateFileName)
  const isThere = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  )
  if (isThere) return file
  const above = dirname(folder)
  return above === folder ? null : fileAbove(above)
}

const segmentsOf = (pointer: string): string[] => pointer.split('/').slice(1)

/** The fields that the schema knows beside an unknown one. */
const knownBeside = (pointer: string): string[] => {
  let schema: JsonSchema | undefined = estateSchema
  for (const segment of segmentsOf(pointer).slice(0, -1))
    schema = schema === undefined ? undefined : propertySchema(schema, segment)
  return Object.keys(schema?.properties ?? {})
}

const diagnosticOf = (node: Node, { field, code, message }: FieldError): Diagnostic => {
  const name = segmentsOf(field).at(-1) ?? ''
  const isUnknown = code === 'unknown-field'
  const place =
    placeAtPointer(node, field === '/' ? '' : field, isUnknown ? 'key' : 'value') ??
    placeOfNode(node)
  return {
    severity: 'error',
    code: `estate-${code}`,
    message: isUnknown ? `${estateFileName} has no field "${name}"` : `${field}: ${message}`,
    place,
    ...(isUnknown ? didYouMean(name, knownBeside(field)) : {}),
  }
}

const checkContexts = (node: MapNode, { contexts = {}, defaultContext }: Written): Diagnostic[] => {
  if (defaultContext === undefined || Object.hasOwn(contexts, defaultContext)) return []
  const place = placeAtPointer(node, '/defaultContext')
  return [
    {
      severity: 'error',
      code: 'estate-context',
      message: `there is no context "${defaultContext}"`,
      ...(place === undefined ? {} : { place }),
      ...didYouMean(defaultContext, Object.keys(contexts)),
    },
  ]
}

const readEstate = (
  root: string,
  file: string,
  documents: readonly Node[],
  diagnostics: Diagnostic[],
): Estate => {
  const [node, second] = documents
  if (node === undefined) return estateOf(root, file)
  if (node.type !== 'map' || second !== undefined) {
    diagnostics.push({
      severity: 'error',
      code: 'estate-document',
      message:
        second === undefined
          ? `${estateFileName} is a map, and this is ${describe(node)}`
          : `${estateFileName} must contain one document; a second one begins here`,
      place: placeOfNode(second ?? node),
    })
    return estateOf(root, file)
  }
  const value = toJson(node)
  const validate = validatorOf('estate', estateSchema)
  const found = validate(value) ? [] : fieldErrors(validate.errors ?? [])
  // Problems of variables are reported one by one below.
  const errors = found.filter(({ field }) => !field.startsWith('/vars/'))
  diagnostics.push(...errors.map((error) => diagnosticOf(node, error)))
  const vars = node.pairs.get('vars')?.value
  const variables = vars?.type === 'map' ? variablesOf(vars, diagnostics) : undefined
  // What a wrong file says would only lead to errors that it is not the cause of.
  if (errors.length > 0) return estateOf(root, file, {}, variables)
  diagnostics.push(...checkContexts(node, value as Written))
  return estateOf(root, file, value as Written, variables)
}

/** Whether what is named lies in an estate, and where a search for its file begins. */
const folderOf = async (cwd: string, path: string): Promise<string> => {
  const full = resolve(cwd, path)
  const found = await stat(full).catch(() => undefined)
  return found?.isDirectory() === true ? full : dirname(full)
}

/**
 * The files of the estates that paths belong to: the nearest above each, from wherever it is named, else that of the
 * current folder. A part of a monorepo has the same owner from its root as from its own folder.
 */
const estateFilesOf = async (
  paths: readonly string[],
  cwd: string,
): Promise<readonly (string | null)[]> => {
  const named = paths.filter((path) => path !== '')
  const folders = named.map((path) => (path === '-' ? cwd : folderOf(cwd, path)))
  const unique = new Set(await Promise.all(folders))
  const files = [...unique].map(async (folder) => (await fileAbove(folder)) ?? fileAbove(cwd))
  return [...new Set(await Promise.all(files))]
}

export interface NamedEstate {
  /** Undefined where the paths do not decide. */
  readonly file: string | undefined
  /** Whether the only path is the folder of the estate, which is read as a whole. */
  readonly isWhole: boolean
  /** Where the paths belong to several. */
  readonly diagnostics: readonly Diagnostic[]
}

/** The estate that the paths of the command line belong to, unless --config names it. */
export const namedEstate = async ({
  paths,
  cwd,
  config,
}: {
  readonly paths: readonly string[]
  readonly cwd: string
  readonly config: string | undefined
}): Promise<NamedEstate> => {
  const none = { file: undefined, isWhole: false, diagnostics: [] }
  if (config !== undefined || paths.length === 0) return none
  const [first, ...others] = await estateFilesOf(paths, cwd)
  if (others.length > 0) {
    const names = [first, ...others].map((file) => (file ? shownPath(cwd, file) : 'none'))
    return {
      ...none,
      diagnostics: [
        {
          severity: 'error',
          code: 'estate-several',
          message: `the paths belong to several estates: ${names.join(', ')}`,
          hint: 'run the command for each of them, or name the one that shall own the documents with --config',
        },
      ],
    }
  }
  if (!first) return none
  const isWhole = paths.length === 1 && resolve(cwd, paths[0] ?? '') === dirname(first)
  return { ...none, file: first, isWhole }
}

/** Owner of what is applied: the source that was given, that of the estate, or the one for estates without a name. */
export const sourceNameOf = (
  given: string | undefined,
  { source }: Pick<Estate, 'source'>,
): string => given ?? source ?? 'default'

/** The estate that a folder belongs to, or that --config names. */
export const findEstate = async ({
  cwd,
  config,
}: {
  readonly cwd: string
  readonly config?: string | undefined
}): Promise<FoundEstate> => {
  const file = config === undefined ? await fileAbove(cwd) : resolve(cwd, config)
  const none = { textOf: () => undefined }
  if (file === null) return { estate: estateOf(cwd, null), diagnostics: [], ...none }
  const root = dirname(file)
  const shown = shownPath(cwd, file)
  const failed = (message: string): FoundEstate => ({
    estate: estateOf(root, file),
    diagnostics: [{ severity: 'error', code: 'estate-file', message }],
    ...none,
  })
  let text: string | undefined
  try {
    text = decodeText(await readFile(file))
  } catch (error) {
    return failed(`${shown} ${reasonOf(error)}`)
  }
  if (text === undefined) return failed(`${shown} is not UTF-8`)
  const read = readDocuments(createSource(shown, text, file))
  const diagnostics = [...read.diagnostics]
  const estate = readEstate(root, file, read.documents, diagnostics)
  return { estate, diagnostics, textOf: (name) => (name === shown ? text : undefined) }
}
