/** `iamctl users import`: many users at once, all of them or none. */

import type { UserImportReply } from '#schemas/wire/records.ts'
import { conversation } from '../../invocation/command.ts'
import { choice, flags, text, toggle, withDefault } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'

const summaryOf = ({ added, skipped, overwritten }: UserImportReply, dryRun: boolean): string =>
  `${dryRun ? 'would be ' : ''}added ${added}, skipped ${skipped}, overwritten ${overwritten}`

interface Outcome {
  readonly realm: string
  readonly dryRun: boolean
  readonly reply: UserImportReply
}

interface View {
  /** Whether the sending is watched. */
  readonly isWatched: boolean
  readonly show: (outcome: Outcome, call: { readonly quiet: boolean }) => void
}

const human: View = {
  isWatched: true,
  show: ({ realm, dryRun, reply }, call) =>
    note(call, `realm ${realm}: ${summaryOf(reply, dryRun)}`),
}

const json: View = {
  isWatched: false,
  show: ({ realm, dryRun, reply }) => printJson({ realm, dryRun, ...reply }),
}

export const importUsers = conversation({
  name: 'import',
  description: 'import users with password hashes, roles and groups: all or none',
  help: `
Each user has a username and may have email, firstName, lastName, enabled, attributes and
credentials: [{ "type": "password", "value": HASH }], where HASH is of Argon2, bcrypt, PBKDF2 or
scrypt. It is replaced by an Argon2id hash when the user signs in. { "type": "password", "password":
TEXT } gives the password itself, which the server hashes; the password policy is not applied to it.
roles (names), clientRoles (client/role) and groups (paths) are assigned if the realm has them; unknown
ones are listed and not assigned: apply the realm first. The import is refused if a role or group grants
a permission that you do not hold; groups need manage-organizations.

Exports of Keycloak of every version are read as they are. Service accounts are skipped.

Each error names its line, and nothing is imported: exit code 3 if the file is not valid, 6 if a name exists. NDJSON is
read line by line; a list, and standard input, is held in memory.

Examples:
  iamctl users import users.ndjson --realm acme --dry-run
  iamctl users import keycloak-users.json --realm acme --if-exists skip`,
  arguments: [
    argument('<file>', 'users as JSON, one a line or a list, or an export of Keycloak; - is stdin'),
  ],
  flags: flags(
    {
      ifExists: withDefault(
        choice('<what>', 'what to do with users who exist', ['fail', 'skip', 'overwrite']),
        'fail',
      ),
      dryRun: toggle('show the result and change nothing'),
      fromRealm: text('<realm>', 'realm of the users, if the export has several', {
        fallback: 'the realm of --realm',
      }),
    },
    realmFlags,
  ),
  views: { human: () => human, json: () => json },
  run: async (call, view: View, file) => {
    const place = await openRealm(call)
    const { dryRun } = call.flags
    const { sendUsers } = await import('../../transfer/send-users.ts')
    const reply = await sendUsers(place, file, {
      ...call.flags,
      note: (words) => note(call, words),
      quiet: call.quiet || !view.isWatched,
      summaryOf: (one) => summaryOf(one, dryRun),
    })
    view.show({ realm: place.realm, dryRun, reply }, call)
  },
})
