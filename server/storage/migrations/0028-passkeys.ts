/**
 * The built-in flow `browser` accepts a passkey instead of a password, in realms that were created without that. Its old
 * content becomes the flow `browser-by-password`, unless a flow of that name exists.
 *
 * A realm keeps its old `browser` where that, or `browser-second-factor`, was changed or is declared by a file: a passkey
 * would bypass a second factor that an administrator chose. As in migration 0017, a rollback does not restore the old flow,
 * and no plan becomes stale.
 */

import { isUnchanged, keptOf } from './built-in-documents.ts'
import type { Migration } from './migration.ts'

const second = {
  key: 'browser-second-factor',
  hash: '43c511ffce1a70486ddddcc4dd62cbc883fb8facf90abc721831cb00f59eb6de',
}
const former = [
  { authenticator: 'username-password' },
  { flowAlias: second.key, requirement: 'CONDITIONAL' },
]
const byPassword = {
  key: 'browser-by-password',
  hash: '35e858588daaa7b32996fcc0b047d420f26549278d96b476740b6fb47ba8f45d',
  body: JSON.stringify({
    alias: 'browser-by-password',
    description: 'A password, and a second factor of users who have one.',
    topLevel: false,
    authenticationExecutions: former,
  }),
}
const old = {
  key: 'browser',
  hash: 'fe48339f82cee67c4b930caf8fbfa8c7ccc74039a953f3b24c4a67ce2eb7d034',
  body: JSON.stringify({
    alias: 'browser',
    description: 'Sign-in in a browser.',
    authenticationExecutions: former,
  }),
}
const browser = {
  key: 'browser',
  hash: 'd8be370511393c6d5d4b52429931ce8d664affba2cc792ccf523f24958fec4a4',
  body: JSON.stringify({
    alias: 'browser',
    description: 'Sign-in in a browser: by a password, or by a passkey that verifies its user.',
    authenticationExecutions: [
      { flowAlias: byPassword.key, requirement: 'ALTERNATIVE' },
      { authenticator: 'webauthn-passwordless', requirement: 'ALTERNATIVE' },
    ],
  }),
}

const reference = (index: number): string => `/authenticationExecutions/${index}/flowAlias`

export const passkeys: Migration = {
  name: '0028-passkeys',
  statements: ({ text }) => [
    `create table added_flows (
      id ${text} not null, realm ${text} not null, second_id ${text} not null,
      created_at bigint not null)`,
    // The databases have no common way to draw an id. One of version 8 (RFC 9562 §5.8) that is else the same as one of
    // version 7 is as unique as that.
    `insert into added_flows (id, realm, second_id, created_at)
      select substr(id, 1, 14) || '8' || substr(id, 16), realm, id, created_at
      from documents where kind = 'flow' and key = '${second.key}' and origin = 'built-in'
      and realm not in
        (select realm from documents where kind = 'flow' and key = '${byPassword.key}')`,
    `insert into documents (id, realm, kind, key, origin, version, hash, body, created_at, updated_at)
      select id, realm, 'flow', '${byPassword.key}', 'built-in', 1, '${byPassword.hash}',
        '${byPassword.body}', created_at, created_at
      from added_flows`,
    `insert into document_refs (from_id, path, to_id)
      select id, '${reference(1)}', second_id from added_flows`,
    `insert into revision_operations (realm, revision, n, op, kind, document_id, key, after)
      select realm, revision, (select max(n) + 1 from revision_operations as others
          where others.realm = revisions.realm and others.revision = revisions.revision),
        'create', 'flow', id, '${byPassword.key}', '${keptOf(byPassword)}'
      from added_flows join revisions using (realm)
      where revision = 1`,

    `create table changed_flows (id ${text} not null, realm ${text} not null)`,
    `insert into changed_flows (id, realm)
      select id, realm from documents where ${isUnchanged('flow', old)}
      and realm in (select realm from added_flows)
      and realm in (select realm from documents where ${isUnchanged('flow', second)})`,
    `update documents set body = '${browser.body}', hash = '${browser.hash}'
      where id in (select id from changed_flows)`,
    `delete from document_refs where from_id in (select id from changed_flows)`,
    `insert into document_refs (from_id, path, to_id)
      select changed_flows.id, '${reference(0)}', added_flows.id
      from changed_flows join added_flows using (realm)`,
    ...['before', 'after'].map(
      (column) => `update revision_operations set ${column} = '${keptOf(browser)}'
        where ${column} = '${keptOf(old)}' and document_id in (select id from changed_flows)`,
    ),

    `update realms set seq = seq + 1 where name in (select realm from added_flows)`,
    `insert into changes (realm, seq, kind, key)
      select realm, seq, 'flow', '${byPassword.key}' from added_flows join realms on name = realm`,
    `insert into changes (realm, seq, kind, key)
      select realm, seq, 'flow', '${browser.key}' from changed_flows join realms on name = realm`,
    `drop table changed_flows`,
    `drop table added_flows`,
  ],
}
