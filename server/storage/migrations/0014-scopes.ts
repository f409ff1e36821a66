/**
 * The scopes `organization` and `account`, for realms that were created without them. They are added to the first revision, as
 * if they had always existed: a rollback does not remove them, and no plan becomes stale. An existing scope of that name stays.
 */

import { keptOf } from './built-in-documents.ts'
import type { Migration } from './migration.ts'

/** `likeness`: which of the realm's built-in scopes lends its id. There are at least five. */
const scopes = [
  {
    name: 'organization',
    description: 'The organization that you act for',
    hash: 'd319f6c4d70046edde6a38812b1d75caf3fc1a48f7bde6a97fe9f881ed944a0e',
    likeness: 'min',
  },
  {
    name: 'account',
    description: 'See and change your account',
    hash: '41c636b745257b5305873c607cfdee1d6a02d9c04a59f409db229aa309d00eae',
    likeness: 'max',
  },
] as const

const bodyOf = ({ name, description }: (typeof scopes)[number]): string =>
  JSON.stringify({ name, description })

export const addScopes: Migration = {
  name: '0014-scopes',
  statements: ({ text }) => [
    `create table added_scopes (
      id ${text} not null, realm ${text} not null, key ${text} not null, created_at bigint not null)`,
    // The databases have no common way to draw an id. One of version 8 (RFC 9562 §5.8) that is else the same as one of
    // version 7 is as unique as that.
    ...scopes.map(
      ({ name, likeness }) => `insert into added_scopes (id, realm, key, created_at)
        select substr(${likeness}(id), 1, 14) || '8' || substr(${likeness}(id), 16),
          realm, '${name}', min(created_at)
        from documents where kind = 'client-scope' and origin = 'built-in'
        and realm not in
          (select realm from documents where kind = 'client-scope' and key = '${name}')
        group by realm`,
    ),
    ...scopes.flatMap((scope) => [
      `insert into documents (id, realm, kind, key, origin, version, hash, body, created_at, updated_at)
        select id, realm, 'client-scope', key, 'built-in', 1, '${scope.hash}', '${bodyOf(scope)}',
          created_at, created_at
        from added_scopes where key = '${scope.name}'`,
      `insert into revision_operations (realm, revision, n, op, kind, document_id, key, after)
        select realm, revision, (select max(n) + 1 from revision_operations as others
            where others.realm = revisions.realm and others.revision = revisions.revision),
          'create', 'client-scope', id, key, '${keptOf({ key: scope.name, body: bodyOf(scope) })}'
        from added_scopes join revisions using (realm)
        where revision = 1 and key = '${scope.name}'`,
    ]),
    `update realms set seq = seq + 1 where name in (select realm from added_scopes)`,
    `insert into changes (realm, seq, kind, key)
      select realm, seq, 'client-scope', key from added_scopes join realms on name = realm`,
    `drop table added_scopes`,
  ],
}
