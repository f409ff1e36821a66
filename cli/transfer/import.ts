/** Puts an export into a realm: shows what that changes, asks, and sends it. */

import { text } from 'node:stream/consumers'
import { load as parseYaml } from 'js-yaml'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { formatVersion, type ImportReply } from '#schemas/wire/wire.ts'
import type { Api } from '../client/api.ts'
import { ProblemError } from '../client/http/errors.ts'
import type { Diagnostic } from '../diagnostics.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { underWay } from '../interruption.ts'
import { hasKeycloakFields, keycloakHint } from '../load/keycloak-realm.ts'
import { parseTemplate } from '../load/variables/template.ts'
import { readDocuments } from '../load/yaml/nodes.ts'
import { createSource } from '../load/yaml/source.ts'
import { placeAtPointer, placeOfNode } from '../load/yaml/tree.ts'
import { readNamed } from '../named-file.ts'
import { approve } from '../views/human/estate/approval.ts'

export interface ImportFlags {
  readonly plan: boolean
  readonly autoApprove: boolean
  readonly fromRealm: string | undefined
}

/** What is imported, and the text that gave it. */
export interface ImportContent {
  readonly file: string
  readonly text: string
  readonly document: Doc
}

type Trial = Awaited<ReturnType<Api['importRealm']>>

export interface ImportView {
  /** What would change, before the confirmation. */
  readonly preview: (trial: Trial) => void
  /** Nothing was to change, or only that was asked for. */
  readonly ended: (trial: Trial) => void
  readonly imported: (
    reply: Trial & Partial<ImportReply>,
    about: { realm: string; isNew: boolean; quiet: boolean },
  ) => void
}

/** As a realm file means it: what is escaped is text, and references are not followed here. */
const literal = (value: unknown, file: string): unknown => {
  if (Array.isArray(value)) return value.map((item) => literal(item, file))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [literal(name, file), literal(inner, file)]),
    )
  if (typeof value !== 'string') return value
  return parseTemplate(value)
    .map((part) => {
      if (part.type === 'text') return part.text
      throw new CommandError(
        exitCodes.invalid,
        `${file} contains ${part.written}, which an import does not resolve`,
        { hint: 'use `iamctl apply`, which resolves references' },
      )
    })
    .join('')
}

export const documentIn = async (file: string): Promise<ImportContent> => {
  const content =
    file === '-' ? await text(process.stdin) : (await readNamed(file)).toString('utf8')
  const isJson = /^\s*\{/.test(content)
  let value: unknown
  try {
    value = isJson ? JSON.parse(content) : parseYaml(content)
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    throw new CommandError(exitCodes.invalid, `${file} cannot be read: ${reason}`, {
      hint: 'give an export as JSON, or a realm as YAML',
      cause: error,
    })
  }
  if (!isObject(value))
    throw new CommandError(exitCodes.invalid, `${file} contains no realm`, {
      hint: 'create the file with `iamctl export -o json`',
    })
  if (hasKeycloakFields((field) => Object.hasOwn(value, field)))
    throw new CommandError(exitCodes.invalid, `${file} is a realm of Keycloak`, {
      hint: keycloakHint,
    })
  const document = { formatVersion, ...((isJson ? value : literal(value, file)) as Doc) }
  return { file: file === '-' ? '<stdin>' : file, text: content, document }
}

/** A refusal with the places of the fields in the file. */
const located = (error: unknown, { file, text: content }: ImportContent): unknown => {
  if (!(error instanceof ProblemError && error.code === 'validation' && error.errors.length > 0))
    return error
  const [root] = readDocuments(createSource(file, content)).documents
  const diagnostics = error.errors.map(({ field, code, message }): Diagnostic => {
    const what = code === 'unknown-field' ? 'key' : 'value'
    const place = root && (placeAtPointer(root, field, what) ?? placeOfNode(root))
    return { severity: 'error', code, message: `${field}: ${message}`, ...(place && { place }) }
  })
  return new CommandError(exitCodes.invalid, `${file} was not imported: it is not valid`, {
    hint: 'nothing was changed; `iamctl explain KIND.field` explains a field',
    diagnostics,
    cause: error,
  })
}

/** Another write to the realm would have made the refusal a conflict (409 or 412). */
const isEmptyAfter = (error: unknown): boolean =>
  error instanceof ProblemError && [400, 403, 413].includes(error.status)

/** An import that the server refuses leaves no empty realm behind. */
const importIntoNew = async (
  api: Api,
  realm: string,
  send: () => Promise<Trial>,
): Promise<Trial> => {
  await api.createRealm(realm)
  try {
    return await send()
  } catch (error) {
    if (isEmptyAfter(error)) await api.deleteRealm(realm).catch(() => undefined)
    throw error
  }
}

/** An administrator of one realm sees only that one, and cannot make others. */
const exists = async (api: Api, realm: string): Promise<boolean> => {
  try {
    await api.revisions(realm, { max: 1 })
    return true
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) return false
    throw error
  }
}

/** Before a realm is made for it. */
const refuseOther = (document: Doc, realm: string, fromRealm: string | undefined): void => {
  const { realm: from } = document
  if (typeof from !== 'string' || from === realm || from === fromRealm) return
  throw new CommandError(
    exitCodes.invalid,
    `the document is an export of realm ${from}, not of realm ${realm}`,
    { hint: `give --from-realm ${from} to import it into ${realm}` },
  )
}

interface Call {
  readonly flags: ImportFlags
  readonly quiet: boolean
}

interface Into {
  readonly api: Api
  readonly realm: string
}

const put = async (
  { flags, quiet }: Call,
  { api, realm }: Into,
  document: Doc,
  view: ImportView,
): Promise<void> => {
  const { plan, autoApprove, fromRealm } = flags
  refuseOther(document, realm, fromRealm)
  const other = fromRealm === undefined ? {} : { fromRealm }
  const send = (baseRevision: number) =>
    underWay({ realm, baseRevision }, () => api.importRealm(realm, document, other))
  if (!(await exists(api, realm))) {
    if (plan)
      throw new CommandError(exitCodes.error, `no such realm ${realm}`, {
        hint: 'leave --plan out: the import creates the realm',
      })
    if (!autoApprove) await approve(`Make realm ${realm} at ${api.server} and import into it?`)
    const reply = await importIntoNew(api, realm, () => send(1))
    return view.imported(reply, { realm, isNew: true, quiet })
  }
  const trial = await api.importRealm(realm, document, { dryRun: true, ...other })
  view.preview(trial)
  if (plan || trial.changes.length === 0) return view.ended(trial)
  if (!autoApprove) await approve(`Import into realm ${realm} at ${api.server}?`)
  view.imported(await send(trial.revision), { realm, isNew: false, quiet })
}

export const importInto = async (
  call: Call,
  into: Into,
  content: ImportContent,
  view: ImportView,
): Promise<void> => {
  try {
    await put(call, into, content.document, view)
  } catch (error) {
    throw located(error, content)
  }
}
