/** Takes the built-in flows of every realm back to what they were before a migration, in the tables and in the history. */
import { sql } from 'kysely'
import { Flow } from '#schemas/kinds/sign-in/flow.ts'
import { contentHash } from '#schemas/normalize.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { statement } from '#server/storage/statements.ts'
import type { TestServer } from '../../support/server.ts'

export interface FormerFlow {
  readonly alias: string
  readonly description: string
  readonly authenticationExecutions: readonly {
    readonly authenticator?: string
    readonly flowAlias?: string
    readonly requirement?: string
  }[]
}

export interface Former {
  readonly removed: readonly string[]
  readonly changed: readonly FormerFlow[]
  /** That run again at the next start. */
  readonly migrations: readonly string[]
}

const kept = (body: FormerFlow) =>
  JSON.stringify({
    key: body.alias,
    parentId: null,
    origin: 'built-in',
    owner: null,
    protected: false,
    body,
    secrets: {},
  })

/** A built-in flow as it is now. */
export const flowSeed = (key: string): FormerFlow => {
  const seed = seedOf(Flow, key)
  if (!seed) throw new Error(`no built-in flow ${key}`)
  return seed.doc as unknown as FormerFlow
}

export const restoreFlows = async (
  { areas: { storage } }: TestServer,
  { removed, changed, migrations }: Former,
): Promise<void> => {
  const { db } = storage
  const raw = (query: ReturnType<typeof sql>) => statement({ compile: () => query.compile(db) })
  const idsOf = (keys: readonly string[]) =>
    sql`(select id from documents where kind = 'flow' and key in (${sql.join(keys)}))`
  const touched = [...removed, ...changed.map(({ alias }) => alias)]
  await storage.commit([
    raw(sql`delete from document_refs where from_id in ${idsOf(touched)}`),
    statement(db.deleteFrom('documents').where('kind', '=', Flow.kind).where('key', 'in', removed)),
    statement(
      db
        .deleteFrom('revision_operations')
        .where('kind', '=', Flow.kind)
        .where('key', 'in', removed),
    ),
    ...changed.flatMap((body) => [
      statement(
        db
          .updateTable('documents')
          .set({ body: JSON.stringify(body), hash: contentHash({ ...body }) })
          .where('kind', '=', Flow.kind)
          .where('key', '=', body.alias),
      ),
      statement(
        db
          .updateTable('revision_operations')
          .set({ after: kept(body) })
          .where('kind', '=', Flow.kind)
          .where('key', '=', body.alias),
      ),
      ...body.authenticationExecutions.flatMap(({ flowAlias }, index) =>
        flowAlias
          ? raw(sql`insert into document_refs (from_id, path, to_id)
              select flow.id, ${`/authenticationExecutions/${index}/flowAlias`}, part.id
              from documents as flow join documents as part on part.realm = flow.realm
              where flow.kind = 'flow' and flow.key = ${body.alias}
              and part.kind = 'flow' and part.key = ${flowAlias}`)
          : [],
      ),
    ]),
    raw(sql`update realms set seq = seq + 1`),
    ...touched.map((key) =>
      raw(
        sql`insert into changes (realm, seq, kind, key) select name, seq, 'flow', ${key} from realms`,
      ),
    ),
    raw(sql`delete from schema_migrations where name in (${sql.join(migrations)})`),
  ])
}

/** As migration 0045 left the database: without the flows of identity providers. */
export const beforeProviders: Former = {
  removed: [
    'browser-after-provider',
    'browser-by-provider',
    'first-broker-login-password',
    'first-broker-login-mail',
    'first-broker-login-link',
  ],
  changed: [
    {
      alias: 'browser',
      description: 'Sign-in in a browser: by a password, or by a passkey that verifies its user.',
      authenticationExecutions: [
        { flowAlias: 'browser-by-password', requirement: 'ALTERNATIVE' },
        { authenticator: 'webauthn-passwordless', requirement: 'ALTERNATIVE' },
      ],
    },
    {
      alias: 'first-broker-login',
      description: 'The first sign-in through an identity provider.',
      authenticationExecutions: [
        { authenticator: 'broker-review-profile' },
        { authenticator: 'broker-link-or-create' },
      ],
    },
  ],
  migrations: ['0046-broker-flows'],
}
