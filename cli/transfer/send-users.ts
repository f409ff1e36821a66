/** Sends the users of a file to a realm, all of them or none. */

import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { UserImportReply } from '#schemas/wire/records.ts'
import type { Api } from '../client/api.ts'
import { ProblemError } from '../client/http/errors.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { type ImportedUsers, importedUsers, type UserFile } from '../load/users/imported-users.ts'
import { runSteps } from '../views/human/elements/progress.ts'

export interface SendOptions {
  readonly ifExists: 'fail' | 'skip' | 'overwrite'
  readonly dryRun: boolean
  /** The realm of the file, where that has several; the one that they are sent to unless given. */
  readonly fromRealm: string | undefined
  /** Notes about users and fields that are not sent. */
  readonly note: (words: string) => void
  /** No progress is shown. */
  readonly quiet: boolean
  readonly summaryOf: (reply: UserImportReply) => string
}

/** The clients whose roles are permissions on Keycloak's own API: one of each realm, and one per realm in `master`. */
const administers = (key: string): boolean => /^(?:realm-management|[^/]+-realm)\//.test(key)

/** How many users go by between two words about it. */
const pace = 1000

/** What comes from a pipe comes once, and is kept. */
const fileOf = async (name: string): Promise<UserFile> => {
  if (name !== '-') return { name, open: () => createReadStream(name) }
  const content = await text(process.stdin)
  return { name: 'stdin', open: () => Readable.from([content], { objectMode: false }) }
}

const opened = async (name: string, from: string): Promise<ImportedUsers> => {
  try {
    return await importedUsers(await fileOf(name), from)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(exitCodes.error, `${name} cannot be read`, {
      hint: 'name an existing file, or - for standard input',
      cause: error,
    })
  }
}

/** Maps problems of the server to the lines of the users in the file. */
const refusal = (error: unknown, name: string, { located }: ImportedUsers): unknown =>
  error instanceof ProblemError && error.errors.length > 0
    ? new CommandError(
        error.status === 409 ? exitCodes.conflict : exitCodes.invalid,
        `${name} was not imported: ${error.status === 409 ? error.detail : 'it is not valid'}`,
        {
          hint: 'nothing was changed; correct the file, or choose with --if-exists how to treat existing users',
          diagnostics: located(error.errors),
          cause: error,
        },
      )
    : error

export const sendUsers = async (
  { api, realm }: { readonly api: Api; readonly realm: string },
  file: string,
  { ifExists, dryRun, fromRealm = realm, note, quiet, summaryOf }: SendOptions,
): Promise<UserImportReply> => {
  const imported = await opened(file, fromRealm)
  const { count, users, leftOut, serviceAccounts } = imported
  for (const [field, times] of leftOut)
    note(`left out, because there is no place for it: ${field} of ${times} users`)
  if (serviceAccounts > 0)
    note(
      `skipped ${serviceAccounts} service accounts: they stand for clients, which are declared as clients`,
    )
  const send = (tell: (words: string) => void): Promise<UserImportReply> => {
    async function* counted() {
      let sent = 0
      for await (const user of users()) {
        yield user
        sent += 1
        if (sent % pace === 0) tell(`${sent} sent`)
      }
      tell('all sent, the server checks and writes them')
    }
    return api.users.importAll(realm, counted, { ifExists, dryRun })
  }
  const title = `Importing ${count} users into ${realm}`
  const [reply] = await runSteps([{ title, work: send, done: summaryOf }], { quiet }).catch(
    (error) => {
      throw refusal(error, file, imported)
    },
  )
  if (reply === undefined) throw new Error('the import has no reply')
  for (const { kind, key, users: times } of reply.missing)
    note(
      `${kind} "${key}" does not exist in realm ${realm}: ${times} users ${dryRun ? 'would not get' : 'did not get'} it`,
    )
  if (reply.missing.some(({ key }) => administers(key)))
    note(
      'administration roles of Keycloak are not client roles here: declare a role with `permissions`, and assign it',
    )
  return reply
}
