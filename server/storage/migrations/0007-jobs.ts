/** Work that is done later, telling clients of ended sessions among it; and how far followers of the audit table are. */

import type { Migration } from './migration.ts'

export const jobs: Migration = {
  name: '0007-jobs',
  statements: ({ text, json, identity, commitOrder }) => [
    `create table jobs (
      id ${identity},
      job_id ${text} not null, queue ${text} not null,
      realm ${text} references realms (name) on delete cascade,
      target ${text} not null, idempotency_key ${text}, payload ${json} not null,
      state ${text} not null, attempts bigint not null, next_at bigint not null, lease ${text},
      created_at bigint not null, finished_at bigint, result ${json})`,
    `create unique index jobs_job on jobs (job_id)`,
    `create unique index jobs_key on jobs (queue, idempotency_key) where idempotency_key is not null`,
    // With all that the search for due jobs and the figures about them read.
    `create index jobs_due on jobs (queue, next_at, target, created_at) where state = 'waiting'`,
    `create index jobs_target on jobs (queue, target, id)`,
    `create index jobs_finished on jobs (queue, finished_at) where finished_at is not null`,
    `create index jobs_realm on jobs (realm)`,

    // Clients that were to be told of the end of a session: from here on that is a job.
    `insert into jobs (job_id, queue, realm, target, idempotency_key, payload,
        state, attempts, next_at, created_at)
      select sid || '/' || client_id, 'logout', realm, client_id, sid || '/' || client_id,
        '{"sid":"' || sid || '","user":' || coalesce('"' || user_id || '"', 'null') || '}',
        'waiting', attempts, next_at, next_at
      from session_clients where next_at is not null`,
    `delete from session_clients where next_at is not null`,
    `drop index session_clients_next`,
    `alter table session_clients drop column attempts`,
    `alter table session_clients drop column next_at`,

    `create table outbox_cursors (name ${text} primary key, position ${text} not null)`,
    ...(commitOrder === undefined
      ? []
      : [
          `alter table audit_events add column xact ${commitOrder}`,
          `create index audit_events_xact on audit_events (xact, id)`,
        ]),
    // For the frequent check whether any webhook exists.
    `create index documents_webhooks on documents (realm) where kind = 'webhook'`,
    // The secret a webhook had before, while deliveries are signed with both.
    `create table webhook_secrets (
      webhook_id ${text} primary key references documents (id) on delete cascade,
      realm ${text} not null,
      created_at bigint not null, previous ${json}, previous_expires_at bigint)`,
  ],
}
