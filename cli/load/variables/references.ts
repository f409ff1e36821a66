/**
 * References that remain after variables are replaced: a secret keeps its reference, which plan and apply resolve; in
 * other fields `${file:PATH}` is read here, and other references are errors.
 */

import { dirname, relative, resolve, sep } from 'node:path'
import type { Doc } from '#schemas/json-schema.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import { secretFields } from '#schemas/walk.ts'
import { harmless } from '../../control-characters.ts'
import type { Diagnostic } from '../../diagnostics.ts'
import { decodeText, isBelow, readBelow } from '../paths.ts'
import {
  eachScalar,
  mapScalars,
  type Node,
  placeOfNode,
  type ScalarNode,
  toJson,
} from '../yaml/tree.ts'
import { escapeText, isReference, onlyReference, type Part, type Reference } from './template.ts'

const mostBytes = 1024 * 1024

export interface ReferenceOptions {
  readonly cwd: string
  readonly root: string
}

/** Pointers to the fields of a realm that hold secrets, whether they are set or not. */
const secretPointers = (realm: Doc): ReadonlySet<string> =>
  new Set(
    flatten(realm).entries.flatMap(({ kind, pointer }) =>
      secretFields(kind).map((field) => pointer + field.pointer),
    ),
  )

/** A path in a file is meant from that file's folder. */
const pathOf = ({ source }: ScalarNode, path: string, { cwd }: ReferenceOptions): string =>
  resolve(source.path === null ? cwd : dirname(source.path), path)

export const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, '')

type Refuse = (code: string, message: string, hint?: string) => void

/** As it is sent for: the one reference, with its path from the root of the estate; or literal text, escaped. */
const secretText = (node: ScalarNode, options: ReferenceOptions, refuse: Refuse): string | null => {
  if (node.template === undefined)
    return typeof node.text === 'string' ? escapeText(node.text) : null
  const reference = onlyReference(node.template)
  if (reference === undefined) {
    const [first] = node.template.filter(isReference)
    refuse(
      'secret-mixed',
      `a secret is one reference or plain text; remove the text around ${first?.written}`,
      'put the whole value where the reference leads',
    )
    return null
  }
  const { type, argument, written } = reference
  if (type !== 'file' && type !== 'sops') return written
  const [file = '', key] = type === 'sops' ? argument.split('#') : [argument]
  const path = pathOf(node, file, options)
  if (!isBelow(options.root, path)) {
    refuse('file-outside', `${harmless(file)} lies outside of the estate`)
    return null
  }
  const shown = relative(options.root, path).split(sep).join('/')
  return `\${${type}:${shown}${key === undefined ? '' : `#${key}`}}`
}

const readReference = async (
  node: ScalarNode,
  { type, argument, written }: Reference,
  options: ReferenceOptions,
  refuse: Refuse,
): Promise<string> => {
  if (type !== 'file') {
    refuse(
      'reference-not-secret',
      `\${${type}:…} is for secrets only, and this field is none`,
      `use \${var:${type === 'env' ? argument : 'NAME'}}, and give its value with --var or a --var-file`,
    )
    return written
  }
  const read = await readBelow(options.root, pathOf(node, argument, options), mostBytes)
  const text = 'bytes' in read ? decodeText(read.bytes) : undefined
  if (text !== undefined) return withoutLastBreak(text)
  const problem = 'problem' in read ? read.problem : 'is not UTF-8'
  refuse('reference-file', `${harmless(argument)} ${problem}`)
  return written
}

const readTemplate = async (
  node: ScalarNode,
  template: readonly Part[],
  options: ReferenceOptions,
  refuse: Refuse,
): Promise<string> => {
  let text = ''
  for (const part of template)
    if (part.type === 'text') text += part.text
    else if (isReference(part)) text += await readReference(node, part, options, refuse)
  return text
}

/** Whether a reference was or is in it; asked first, because a pointer to every value of a large realm costs more. */
const isOpen = (node: Node): boolean => {
  if (node.type === 'scalar') return node.template !== undefined || node.text !== undefined
  if (node.type === 'list') return node.items.some(isOpen)
  for (const { value } of node.pairs.values()) if (isOpen(value)) return true
  return false
}

/** A realm with no reference left but those of secrets. */
export const settleReferences = async (
  realm: Node,
  options: ReferenceOptions,
  diagnostics: Diagnostic[],
): Promise<Node> => {
  if (!isOpen(realm)) return realm
  const open: [string, ScalarNode][] = []
  eachScalar(realm, (node, pointer) => {
    if (isOpen(node)) open.push([pointer, node])
  })
  const secrets = secretPointers(toJson(realm) as Doc)
  const settled = new Map<string, ScalarNode>()
  for (const [pointer, node] of open) {
    const refuse: Refuse = (code, message, hint) =>
      diagnostics.push({
        severity: 'error',
        code,
        message,
        place: placeOfNode(node),
        ...(hint === undefined ? {} : { hint }),
      })
    const { template, text: _, ...rest } = node
    if (secrets.has(pointer)) {
      const value = secretText(node, options, refuse)
      if (value !== null) settled.set(pointer, { ...rest, value })
    } else if (template !== undefined)
      settled.set(pointer, { ...rest, value: await readTemplate(node, template, options, refuse) })
  }
  return mapScalars(realm, (node, pointer) => settled.get(pointer) ?? node)
}
