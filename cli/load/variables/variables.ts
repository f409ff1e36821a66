/**
 * `${var:NAME}` in the values of files. A value comes from --var, else from the environment, else from a --var-file,
 * else from iamctl.yaml; it is put in as it is and never read for references again.
 */

import { resolve } from 'node:path'
import type { Diagnostic, Place } from '../../diagnostics.ts'
import { findFiles } from '../files.ts'
import { didYouMean } from '../nearest.ts'
import { readDocuments } from '../yaml/nodes.ts'
import { plainValue, typedValue } from '../yaml/scalars.ts'
import type { Source } from '../yaml/source.ts'
import {
  describe,
  type MapNode,
  mapScalars,
  type Node,
  type Pair,
  placeOfKey,
  placeOfNode,
  type Scalar,
  type ScalarNode,
} from '../yaml/tree.ts'
import { isReference, isVariableName, type Part, parseTemplate } from './template.ts'

export interface Variable {
  /** Where it fills a whole value. */
  readonly value: Scalar
  /** Where it is part of a text. */
  readonly text: string
}

export interface Variables {
  get(name: string): Variable | undefined
  names(): Iterable<string>
  /** Variables that the files use, to find unused ones. */
  readonly asked: Set<string>
  /** Given by --var. */
  readonly given: readonly string[]
}

const unknownCode = 'variable-unknown'

const environmentPrefix = 'IAMCTL_VAR_'

const isPlain = (node: ScalarNode): boolean => {
  const written = node.source.text.slice(node.start, node.end)
  return Object.is(plainValue(written), node.value)
}

/** The variables of a map in a file; a number keeps the digits that it is written with, such as 1.10. */
export const variablesOf = (
  map: MapNode,
  diagnostics: Diagnostic[],
): ReadonlyMap<string, Variable> => {
  const variables = new Map<string, Variable>()
  const refuse = (code: string, message: string, place: Place): void => {
    diagnostics.push({ severity: 'error', code, message, place })
  }
  for (const [name, pair] of map.pairs) {
    const { value: node } = pair
    if (!isVariableName(name))
      refuse('variable-name', `"${name}" is no name for a variable`, placeOfKey(pair))
    else if (node.type !== 'scalar' || node.value === null)
      refuse(
        'variable-value',
        `the value of the variable "${name}" is text, a number, true or false, and this is ${describe(node)}`,
        placeOfNode(node),
      )
    else {
      const written = node.source.text.slice(node.start, node.end)
      const text = typeof node.value !== 'string' && isPlain(node) ? written : String(node.value)
      variables.set(name, { value: node.value, text })
    }
  }
  return variables
}

export interface VariableOptions {
  /** `NAME=value`, as --var takes them. */
  readonly flags: readonly string[]
  /** Paths of --var-file; of the same name in two, the later counts. */
  readonly files: readonly string[]
  readonly estate: ReadonlyMap<string, Variable>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly root: string
}

const ofText = (text: string): Variable => ({ value: typedValue(text), text })

export const readVariables = async ({
  flags,
  files,
  estate,
  env,
  cwd,
  root,
}: VariableOptions): Promise<{
  readonly variables: Variables
  readonly sources: readonly Source[]
  readonly diagnostics: readonly Diagnostic[]
}> => {
  const diagnostics: Diagnostic[] = []
  const known = new Map<string, Variable>(estate)
  const found = await findFiles(
    files.map((file) => resolve(cwd, file)),
    { cwd, root },
  )
  diagnostics.push(...found.diagnostics)
  for (const source of found.sources) {
    const read = readDocuments(source)
    diagnostics.push(...read.diagnostics)
    for (const document of read.documents)
      if (document.type === 'map')
        for (const [name, variable] of variablesOf(document, diagnostics)) known.set(name, variable)
      else
        diagnostics.push({
          severity: 'error',
          code: 'variable-file',
          message: `a file of variables is a map of names and values, and this is ${describe(document)}`,
          place: placeOfNode(document),
        })
  }
  for (const [name, text] of Object.entries(env))
    if (name.startsWith(environmentPrefix) && text !== undefined)
      known.set(name.slice(environmentPrefix.length), ofText(text))
  const given: string[] = []
  for (const flag of flags) {
    const at = flag.indexOf('=')
    const name = flag.slice(0, at)
    if (at === -1 || !isVariableName(name)) {
      const message = `--var takes NAME=value, and this is "${flag}"`
      diagnostics.push({ severity: 'error', code: 'variable-flag', message })
      continue
    }
    known.set(name, ofText(flag.slice(at + 1)))
    given.push(name)
  }
  const variables: Variables = {
    get: (name) => known.get(name),
    names: () => known.keys(),
    asked: new Set(),
    given,
  }
  return { variables, sources: found.sources, diagnostics }
}

/** The place of a reference inside of a value; of the value where escapes or folded lines hide it. */
const placeOfPart = ({ source, start, end }: ScalarNode, written: string): Place => {
  const at = source.text.slice(start, end).indexOf(written)
  return at === -1
    ? source.placeAt(start, end)
    : source.placeAt(start + at, start + at + written.length)
}

/** A tree with its variables replaced. Other references stay in it as templates, resolved where the field is known. */
export const fillVariables = (
  document: Node,
  variables: Variables,
  diagnostics: Diagnostic[],
): Node => {
  const refuse = (
    node: ScalarNode,
    written: string,
    more: Omit<Diagnostic, 'severity' | 'place'>,
  ) => diagnostics.push({ severity: 'error', ...more, place: placeOfPart(node, written) })

  const textOf = (node: ScalarNode, part: Part): Part => {
    if (part.type === 'wrong') {
      const { message, hint } = part
      refuse(node, part.written, { code: 'reference-unknown', message, hint })
      return { type: 'text', text: part.written }
    }
    if (part.type !== 'var') return part
    variables.asked.add(part.name)
    const text = variables.get(part.name)?.text ?? part.fallback
    if (text !== null) return { type: 'text', text }
    refuse(node, part.written, {
      code: unknownCode,
      message: `there is no variable "${part.name}"`,
      hint:
        didYouMean(part.name, variables.names()).hint ??
        `give it with --var ${part.name}=…, ${environmentPrefix}${part.name}, a --var-file or iamctl.yaml`,
    })
    return { type: 'text', text: part.written }
  }

  const fill = (node: ScalarNode): ScalarNode => {
    if (typeof node.value !== 'string' || !node.value.includes('${')) return node
    const parts = parseTemplate(node.value)
    const [only] = parts
    if (parts.length === 1 && only?.type === 'var' && node.typed) {
      const variable = variables.get(only.name)
      const part = textOf(node, only)
      if (part.type !== 'text') return node
      const value = variable === undefined ? typedValue(part.text) : variable.value
      return { ...node, value, text: part.text }
    }
    const filled = parts.map((part) => textOf(node, part))
    if (filled.some(isReference)) return { ...node, template: filled }
    const text = filled.map((part) => (part.type === 'text' ? part.text : '')).join('')
    return { ...node, value: text, text }
  }

  /** What an alias repeats is filled once. */
  const filledNodes = new Map<ScalarNode, ScalarNode>()
  const hasEscapedKeys = checkKeys(document, diagnostics)
  const filled = mapScalars(document, (node) => {
    const known = filledNodes.get(node)
    if (known !== undefined) return known
    const full = fill(node)
    if (full !== node) filledNodes.set(node, full)
    return full
  })
  return hasEscapedKeys ? unescapeKeys(filled) : filled
}

/** A key is never filled; what it holds literally is written in it as in any other text. */
const unescapeKeys = (node: Node): Node => {
  if (node.type === 'scalar') return node
  if (node.type === 'list') return { ...node, items: node.items.map(unescapeKeys) }
  const pairs = [...node.pairs].map(
    ([key, pair]) =>
      [key.replaceAll('$${', '${'), { ...pair, value: unescapeKeys(pair.value) }] as const,
  )
  return { ...node, pairs: new Map(pairs) }
}

/** Says whether one of them is escaped. */
const checkKeys = (node: Node, diagnostics: Diagnostic[], seen = new Set<Pair>()): boolean => {
  let hasEscaped = false
  if (node.type === 'list')
    for (const item of node.items) hasEscaped = checkKeys(item, diagnostics, seen) || hasEscaped
  if (node.type !== 'map') return hasEscaped
  for (const [key, pair] of node.pairs) {
    if (seen.has(pair)) continue
    seen.add(pair)
    if (/(?<!\$)\$\{/.test(key))
      diagnostics.push({
        severity: 'error',
        code: 'reference-in-key',
        message: `references are not read in keys, and here is "${key}"`,
        hint: 'write $${ where ${ itself is meant',
        place: placeOfKey(pair),
      })
    hasEscaped = checkKeys(pair.value, diagnostics, seen) || key.includes('$${') || hasEscaped
  }
  return hasEscaped
}

/** A missing variable is one error, reported at its first use with the number of uses. */
export const foldUnknown = (diagnostics: readonly Diagnostic[]): Diagnostic[] => {
  const uses = Map.groupBy(
    diagnostics.filter(({ code }) => code === unknownCode),
    ({ message }) => message,
  )
  return diagnostics.flatMap((diagnostic) => {
    const all = diagnostic.code === unknownCode ? uses.get(diagnostic.message) : undefined
    if (all === undefined || all.length === 1) return [diagnostic]
    if (all[0] !== diagnostic) return []
    const message = `${diagnostic.message} (used ${all.length} times, first here)`
    return [{ ...diagnostic, message }]
  })
}

/** A --var that no file asked for is a slip of its name, or left over. */
export const unusedVariables = ({ given, asked }: Variables): Diagnostic[] =>
  [...new Set(given)]
    .filter((name) => !asked.has(name))
    .map((name) => ({
      severity: 'warning',
      code: 'variable-unused',
      message: `no file asks for the variable "${name}" of --var`,
      ...didYouMean(name, asked),
    }))
