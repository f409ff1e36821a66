/**
 * --secrets-out: the CLI generates the secrets of new documents instead of the server, which would never show them. They
 * are written to a file of mode 0600 before they are sent, so that none is lost.
 */

import { randomBytes } from 'node:crypto'
import { lstatSync, readFileSync, rmSync } from 'node:fs'
import { isObject } from '#schemas/json-schema.ts'
import { own } from '#schemas/own.ts'
import { CommandError, exitCodes } from '../exit.ts'
import type { SecretOf } from '../planning/changeset.ts'
import type { Change, Plan, RealmPlan } from '../planning/plan.ts'
import { generatedSecrets } from '../planning/warnings/unkept-secrets.ts'
import { writePrivateFile } from '../private-file.ts'

/** By realm, `kind/key` and field. */
type Content = Record<string, Record<string, Record<string, string>>>

interface Made {
  readonly realm: string
  readonly change: Change
  readonly pointer: string
  readonly value: string
}

const newSecret = (): string => randomBytes(32).toString('base64url')

const madeFor = ({ realm, changes }: RealmPlan): Made[] =>
  changes.flatMap((change) =>
    generatedSecrets(change).map((pointer) => ({ realm, change, pointer, value: newSecret() })),
  )

const refuse = (file: string, problem: string): never => {
  throw new CommandError(exitCodes.error, `${file} ${problem}`, {
    hint: 'nothing was sent; name another file with --secrets-out',
  })
}

/** What the file holds already; one that others own or can read is not written to. */
const contentOf = (file: string): Content => {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return {}
  if (!found.isFile()) return refuse(file, 'is not a file')
  if (process.getuid && found.uid !== process.getuid())
    return refuse(file, 'belongs to another user')
  if (found.mode & 0o077) return refuse(file, 'can be read by others (chmod 600)')
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isObject(value)) return value as Content
  } catch {
    // Told below: the reason could repeat what stands there.
  }
  return refuse(file, 'holds something else')
}

const withAll = (content: Content, made: readonly Made[]): Content => {
  const all = structuredClone(content)
  for (const { realm, change, pointer, value } of made) {
    const name = `${change.kind}/${change.key}`
    const documents = own(all, realm) ?? {}
    all[realm] = { ...documents, [name]: { ...own(documents, name), [pointer.slice(1)]: value } }
  }
  return all
}

const save = (file: string, content: Content): void =>
  writePrivateFile(file, `${JSON.stringify(content, null, 2)}\n`)

export interface MadeSecrets {
  readonly plan: Plan
  readonly secretOf: SecretOf
  readonly count: number
  /** Takes those of realms that were not applied out of the file again. */
  forget(realms: readonly string[]): void
}

export const makeSecrets = (plan: Plan, secretOf: SecretOf, file: string): MadeSecrets => {
  const made = plan.realms.flatMap(madeFor)
  const content = contentOf(file)
  if (made.length === 0) return { plan, secretOf, count: 0, forget: () => undefined }
  const withMade = withAll(content, made)
  save(file, withMade)
  const ofChange = (change: Change): Made[] => made.filter((one) => one.change === change)
  return {
    count: made.length,
    plan: {
      ...plan,
      realms: plan.realms.map((realm) => ({
        ...realm,
        changes: realm.changes.map((change) => ({
          ...change,
          secrets: [
            ...change.secrets,
            ...ofChange(change).map(({ pointer }) => ({
              pointer,
              change: 'set' as const,
              source: { from: 'literal' as const, file, pointer },
            })),
          ],
        })),
      })),
    },
    secretOf: (realm, place) =>
      made.find(
        ({ realm: name, change, pointer }) =>
          name === realm &&
          change.kind === place.kind &&
          change.key === place.key &&
          pointer === place.pointer,
      )?.value ?? secretOf(realm, place),
    forget(realms) {
      if (realms.length === 0) return
      const left = { ...withMade }
      for (const realm of realms) {
        const before = own(content, realm)
        if (before === undefined) delete left[realm]
        else left[realm] = before
      }
      if (Object.keys(left).length === 0) rmSync(file, { force: true })
      else save(file, left)
    },
  }
}
