/** Puts an export into a realm: shows what that changes, asks, and sends it. */

import { text } from 'node:stream/consumers'
import { load as parseYaml } from 'js-yaml'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { formatVersion, type ImportReply } from '#schemas/wire/wire.ts'
import type { Api } from '../client/api.ts'
import { ProblemError } from '../client/http/errors.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { underWay } from '../interruption.ts'
import { hasKeycloakFields, keycloakHint } from '../load/keycloak-realm.ts'
import { parseTemplate } from '../load/variables/template.ts'
import { readNamed } from '../named-file.ts'
import { approve } from '../views/human/estate/approval.ts'

export interface ImportFlags {
  readonly plan: boolean
  readonly autoApprove: boolean
  readonly fromRealm: string | undefined
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

export const documentIn = async (file: string): Promise<Doc> => {
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
  return { formatVersion, ...((isJson ? value : literal(value, file)) as Doc) }
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

export const importInto = async (
  { flags, quiet }: { readonly flags: ImportFlags; readonly quiet: boolean },
  { api, realm }: { readonly api: Api; readonly realm: string },
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
    await api.createRealm(realm)
    return view.imported(await send(1), { realm, isNew: true, quiet })
  }
  const trial = await api.importRealm(realm, document, { dryRun: true, ...other })
  view.preview(trial)
  if (plan || trial.changes.length === 0) return view.ended(trial)
  if (!autoApprove) await approve(`Import into realm ${realm} at ${api.server}?`)
  view.imported(await send(trial.revision), { realm, isNew: false, quiet })
}
