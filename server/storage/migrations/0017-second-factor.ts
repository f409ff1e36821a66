/**
 * The built-in flow `browser-second-factor` offers enrolled devices, in realms that were born without: it counted them as a
 * second factor and asked for none, so that their users could not sign in. The history contains the flow as if it had always
 * been so: a rollback does not restore the old one, and no plan becomes stale. A flow that was changed, or that a file
 * declares, stays as it is.
 */

import { isUnchanged, keptOf } from './built-in-documents.ts'
import type { Migration } from './migration.ts'

const key = 'browser-second-factor'
const hashes = {
  old: '3bbbaf7cba36b75e667cb848f98ecd75fa2b16c1ede9e948d5a58c49245e68ab',
  mended: '43c511ffce1a70486ddddcc4dd62cbc883fb8facf90abc721831cb00f59eb6de',
}

const bodyOf = (...factors: readonly string[]): string =>
  JSON.stringify({
    alias: key,
    description: 'A second factor, of users who have one.',
    topLevel: false,
    authenticationExecutions: [
      { authenticator: 'condition-user-has-factor' },
      ...factors.map((authenticator) => ({ authenticator, requirement: 'ALTERNATIVE' })),
    ],
  })

const old = bodyOf('totp', 'webauthn', 'recovery-code')
const mended = bodyOf('totp', 'webauthn', 'push', 'recovery-code')

const these = '(select id from mended_flows)'

export const mendSecondFactor: Migration = {
  name: '0017-second-factor',
  statements: ({ text }) => [
    `create table mended_flows (id ${text} not null, realm ${text} not null)`,
    `insert into mended_flows (id, realm)
      select id, realm from documents where ${isUnchanged('flow', { key, hash: hashes.old })}`,
    `update documents set body = '${mended}', hash = '${hashes.mended}' where id in ${these}`,
    ...['before', 'after'].map(
      (column) => `update revision_operations set ${column} = '${keptOf({ key, body: mended })}'
        where ${column} = '${keptOf({ key, body: old })}' and document_id in ${these}`,
    ),
    `update realms set seq = seq + 1 where name in (select realm from mended_flows)`,
    `insert into changes (realm, seq, kind, key)
      select realm, seq, 'flow', '${key}' from mended_flows join realms on name = realm`,
    `drop table mended_flows`,
  ],
}
