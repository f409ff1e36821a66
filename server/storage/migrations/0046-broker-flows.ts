/**
 * The flows of identity providers, for realms that were created without them: the page of the built-in flow `browser` offers
 * the providers, and `first-broker-login` links an account after its proof. A realm that has a flow of one of the new names
 * keeps its flows as they are.
 *
 * `browser` also stays as it is where that, or a part of it, was changed or is declared by a file: a provider would bypass a
 * second factor that an administrator chose. As in migration 0017, a rollback does not restore the old flows, and no plan
 * becomes stale.
 */

import { type BuiltIn, isUnchanged, keptOf } from './built-in-documents.ts'
import type { Migration } from './migration.ts'

type Execution = { readonly requirement?: string } & (
  | { readonly authenticator: string }
  | { readonly flowAlias: string }
)

interface Flow extends BuiltIn {
  readonly executions: readonly Execution[]
}

const flow = (
  key: string,
  hash: string,
  description: string,
  executions: readonly Execution[],
  isTopLevel = false,
): Flow => ({
  key,
  hash,
  executions,
  body: JSON.stringify({
    alias: key,
    description,
    ...(isTopLevel ? {} : { topLevel: false }),
    authenticationExecutions: executions,
  }),
})

const or = 'ALTERNATIVE'
const secondFactor = { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' }

const added: readonly Flow[] = [
  flow(
    'browser-after-provider',
    'b5070673dce85c7812ac3042d18cdd6af419dc89e56e5312a8a9c7d3f999262e',
    'A second factor, of users who have one, where the identity provider proved one.',
    [
      { authenticator: 'condition-user-has-factor' },
      { authenticator: 'condition-one-factor' },
      { authenticator: 'totp', requirement: or },
      { authenticator: 'webauthn', requirement: or },
      { authenticator: 'push', requirement: or },
      { authenticator: 'recovery-code', requirement: or },
    ],
  ),
  flow(
    'browser-by-provider',
    'a80c70f1cdbca2037c750d313bbdac9596a6c3441959fb5921d6dc5b6c273788',
    'An identity provider, and a second factor where it proved one only.',
    [
      { authenticator: 'identity-provider' },
      { flowAlias: 'browser-after-provider', requirement: 'CONDITIONAL' },
    ],
  ),
  flow(
    'first-broker-login-password',
    '1eee233ddcd84d5e47c120003185c68b80d0dc346f575718e0b6365104d3e9b7',
    'The password of an account that is to be linked.',
    [{ authenticator: 'password' }, secondFactor],
  ),
  flow(
    'first-broker-login-mail',
    '22d572b7f1d34f5547b4e8dec19c175f7acd1a85ff962a764ea696b206aec698',
    'A code to the verified address of an account that is to be linked.',
    [{ authenticator: 'email-code' }, secondFactor],
  ),
  flow(
    'first-broker-login-link',
    'a39de6f8349092676616e955fcefcf540c36e7614247b0bdc068bed485e0979f',
    'Proof of the account that has the address; the link is made as the sign-in ends.',
    [
      { authenticator: 'broker-confirm-link' },
      { flowAlias: 'first-broker-login-password', requirement: or },
      { authenticator: 'webauthn-passwordless', requirement: or },
      { flowAlias: 'first-broker-login-mail', requirement: or },
    ],
  ),
]

const byPassword = {
  key: 'browser-by-password',
  hash: '35e858588daaa7b32996fcc0b047d420f26549278d96b476740b6fb47ba8f45d',
}
const second = {
  key: secondFactor.flowAlias,
  hash: '43c511ffce1a70486ddddcc4dd62cbc883fb8facf90abc721831cb00f59eb6de',
}

/** Each with what it becomes, and the parts that must be unchanged too. */
const changed = [
  {
    parts: [byPassword, second],
    old: flow(
      'browser',
      'd8be370511393c6d5d4b52429931ce8d664affba2cc792ccf523f24958fec4a4',
      'Sign-in in a browser: by a password, or by a passkey that verifies its user.',
      [
        { flowAlias: byPassword.key, requirement: or },
        { authenticator: 'webauthn-passwordless', requirement: or },
      ],
      true,
    ),
    now: flow(
      'browser',
      'b7a3cc3538d8b2139f61aed8945f02b2d4220aaa8207adf6a0695af53a270630',
      'Sign-in in a browser: by a password, by a passkey that verifies its user, or through an identity provider.',
      [
        { flowAlias: byPassword.key, requirement: or },
        { authenticator: 'webauthn-passwordless', requirement: or },
        { flowAlias: 'browser-by-provider', requirement: or },
      ],
      true,
    ),
  },
  {
    parts: [],
    old: flow(
      'first-broker-login',
      '684acd37ee9b83dd3279c62725d3cc466c7e1b859654562f43206ed35bcaa14b',
      'The first sign-in through an identity provider.',
      [{ authenticator: 'broker-review-profile' }, { authenticator: 'broker-link-or-create' }],
      true,
    ),
    now: flow(
      'first-broker-login',
      'eaccc6ccc727d6f3aae77a3de3b7efd3df9d228ff1b0dfaa467fa34c84588247',
      'The first sign-in through an identity provider: links an account, or makes one.',
      [
        { authenticator: 'broker-review-profile' },
        { authenticator: 'broker-link-or-create', requirement: or },
        { flowAlias: 'first-broker-login-link', requirement: or },
      ],
      true,
    ),
  },
]

const names = added.map(({ key }) => `'${key}'`).join(', ')

/** Of the flows of a key in a table with their ids, to the parts that they run. */
const references = (table: string, { key, executions }: Flow): readonly string[] =>
  executions.flatMap((execution, index) =>
    'flowAlias' in execution
      ? `insert into document_refs (from_id, path, to_id)
          select ${table}.id, '/authenticationExecutions/${index}/flowAlias', documents.id
          from ${table} join documents on documents.realm = ${table}.realm
          where ${table}.key = '${key}'
          and documents.kind = 'flow' and documents.key = '${execution.flowAlias}'`
      : [],
  )

export const brokerFlows: Migration = {
  name: '0046-broker-flows',
  statements: ({ text }) => [
    `create table added_flows (
      id ${text} not null, realm ${text} not null, key ${text} not null, created_at bigint not null)`,
    // The databases have no common way to draw an id. One of version 8 (RFC 9562 §5.8) with the figures of a document that
    // each realm has once, and the number of the flow at the end, is as unique as that document's.
    ...added.map(
      ({ key }, index) => `insert into added_flows (id, realm, key, created_at)
        select substr(id, 1, 14) || '8' || substr(id, 16, 20) || '${index}', realm, '${key}', created_at
        from documents where kind = 'settings'
        and realm in (select realm from documents where kind = 'flow' and key = '${second.key}')
        and realm not in (select realm from documents where kind = 'flow' and key in (${names}))`,
    ),
    ...added.flatMap((one) => [
      `insert into documents (id, realm, kind, key, origin, version, hash, body, created_at, updated_at)
        select id, realm, 'flow', key, 'built-in', 1, '${one.hash}', '${one.body}', created_at, created_at
        from added_flows where key = '${one.key}'`,
      `insert into revision_operations (realm, revision, n, op, kind, document_id, key, after)
        select realm, revision, (select max(n) + 1 from revision_operations as others
            where others.realm = revisions.realm and others.revision = revisions.revision),
          'create', 'flow', id, key, '${keptOf(one)}'
        from added_flows join revisions using (realm)
        where revision = 1 and key = '${one.key}'`,
    ]),
    ...added.flatMap((one) => references('added_flows', one)),

    `create table changed_flows (id ${text} not null, realm ${text} not null, key ${text} not null)`,
    ...changed.map(
      ({ old, parts }) => `insert into changed_flows (id, realm, key)
        select id, realm, key from documents where ${isUnchanged('flow', old)}
        and realm in (select realm from added_flows)
        ${parts
          .map(
            (part) =>
              `and realm in (select realm from documents where ${isUnchanged('flow', part)})`,
          )
          .join(' ')}`,
    ),
    `delete from document_refs where from_id in (select id from changed_flows)`,
    ...changed.flatMap(({ old, now }) => [
      `update documents set body = '${now.body}', hash = '${now.hash}'
        where id in (select id from changed_flows where key = '${now.key}')`,
      ...['before', 'after'].map(
        (column) => `update revision_operations set ${column} = '${keptOf(now)}'
          where ${column} = '${keptOf(old)}' and document_id in (select id from changed_flows)`,
      ),
      ...references('changed_flows', now),
    ]),

    `update realms set seq = seq + 1 where name in (select realm from added_flows)`,
    ...['added_flows', 'changed_flows'].map(
      (table) => `insert into changes (realm, seq, kind, key)
        select realm, seq, 'flow', key from ${table} join realms on name = realm`,
    ),
    `drop table changed_flows`,
    `drop table added_flows`,
  ],
}
