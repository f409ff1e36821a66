/** Writes a realm as files, and puts an export into a realm. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { load as parseYaml } from 'js-yaml'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { formatVersion, type ImportReply } from '#schemas/wire/wire.ts'
import type { Connection } from '../../client/connect.ts'
import { ProblemError } from '../../client/http/errors.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { underWay } from '../../interruption.ts'
import { parseTemplate } from '../../load/variables/template.ts'
import { approve } from '../../views/human/approval.ts'
import { note } from '../../views/human/elements/note.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { showChanges } from '../../views/human/show-plan.ts'
import { jsonText, printJson } from '../../views/json/json.ts'
import { printOut } from '../../views/streams.ts'
import { realmText, sectionTexts } from '../../views/yaml/realm.ts'
import { writeBelow } from '../../write-below.ts'
import { type Invocation, textOf } from '../invocation.ts'
import { withRealm } from './connection.ts'

interface ExportFlags {
  readonly out?: string
  readonly split?: boolean
  readonly overwrite?: boolean
  readonly users?: 'managed' | 'all'
  readonly ids?: boolean
}

const refuseUnfit = ({ out, split, users, ids }: ExportFlags, output: string): void => {
  if (output === 'yaml' && (users === 'all' || ids))
    throw new CommandError(exitCodes.error, '--users all and --ids need -o json', {
      hint: 'give -o json; files for Git contain neither',
    })
  if (split && out === undefined)
    throw new CommandError(exitCodes.error, '--split writes several files', {
      hint: 'name their folder with --out',
    })
}

export const exportRealm = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const flags = invocation.flags as ExportFlags
    const { out, split = false, overwrite = false, users, ids } = flags
    refuseUnfit(flags, invocation.output)
    const exported = await api.exportRealm(realm, {
      ...(users === undefined ? {} : { users }),
      ...(ids ? { ids } : {}),
    })
    const omitted = exported.meta.omittedSections ?? []
    if (omitted.length > 0)
      note(invocation, `left out, because you may not read them: ${omitted.join(', ')}`)
    if (invocation.output === 'json' && out === undefined) return printJson(exported)
    if (out === undefined) return printOut(realmText(exported))
    const files: ReadonlyMap<string, string> =
      invocation.output === 'json'
        ? new Map([[`${realm}.json`, `${jsonText(exported, 2)}\n`]])
        : split
          ? new Map([...sectionTexts(exported)].map(([name, one]) => [join(realm, name), one]))
          : new Map([[`${realm}.yaml`, realmText(exported)]])
    for (const [name, content] of files) await writeBelow(out, name, content, { overwrite })
    note(
      invocation,
      `realm ${realm}, revision ${exported.revision}: ${[...files.keys()].map((name) => join(out, name)).join(', ')}`,
    )
  })

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

const documentIn = async (file: string): Promise<Doc> => {
  const content = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
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
  return { formatVersion, ...((isJson ? value : literal(value, file)) as Doc) }
}

/** An administrator of one realm sees only that one, and cannot make others. */
const exists = async (api: Connection['api'], realm: string): Promise<boolean> => {
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

/** Told once: a server that keeps hashes can never show them again. */
const showMade = (invocation: Invocation, { madeSecrets = [] }: Partial<ImportReply>): void => {
  if (madeSecrets.length === 0) return
  printTable(
    ['document', 'field', 'generated value'],
    madeSecrets.map(({ kind, key, pointer, value }) => [`${kind} ${key}`, pointer.slice(1), value]),
  )
  note(invocation, 'store these secrets now; they are not shown again')
}

const importInto = async (
  invocation: Invocation,
  { api }: Connection,
  realm: string,
  document: Doc,
): Promise<void> => {
  const { plan: planOnly, autoApprove } = invocation.flags
  const fromRealm = textOf(invocation, 'fromRealm')
  refuseOther(document, realm, fromRealm)
  const other = fromRealm === undefined ? {} : { fromRealm }
  if (!(await exists(api, realm))) {
    if (planOnly)
      throw new CommandError(exitCodes.error, `no such realm ${realm}`, {
        hint: 'leave --plan out: the import creates the realm',
      })
    if (autoApprove !== true)
      await approve(`Make realm ${realm} at ${api.server} and import into it?`)
    await api.createRealm(realm)
    const reply = await underWay({ realm, baseRevision: 1 }, () =>
      api.importRealm(realm, document, other),
    )
    if (invocation.output !== 'human') return printJson(reply)
    showMade(invocation, reply)
    return note(invocation, `made realm ${realm} and imported into it: revision ${reply.revision}`)
  }
  const trial = await api.importRealm(realm, document, { dryRun: true, ...other })
  const human = invocation.output === 'human'
  if (human) showChanges(trial.changes, { ...trial, done: false })
  if (planOnly || trial.changes.length === 0) {
    if (!human) printJson(trial)
    return
  }
  if (autoApprove !== true) await approve(`Import into realm ${realm} at ${api.server}?`)
  const reply = await underWay({ realm, baseRevision: trial.revision }, () =>
    api.importRealm(realm, document, other),
  )
  if (!human) return printJson(reply)
  showMade(invocation, reply)
  note(invocation, `imported into realm ${realm}: revision ${reply.revision}`)
}

export const importRealm = async (invocation: Invocation, file: string): Promise<void> => {
  const document = await documentIn(file)
  await withRealm(invocation, (connection, realm) =>
    importInto(invocation, connection, realm, document),
  )
}
