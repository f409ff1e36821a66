/**
 * The current state behind a token: whether it was revoked, its grant with its user and session, and `not-before`. Read
 * from the database for each request, batched over concurrent requests; a result is cached until the next commit.
 */

import { type Kysely, sql } from 'kysely'
import { gathered } from '#server/storage/gathered.ts'
import { preparedPerSize } from '#server/storage/prepared.ts'
import type { SessionRow, Tables, UserRow } from '#server/storage/tables/tables.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'

/** What is asked about; what is left out is not. Ids are of documents and rows. */
export interface Asked {
  readonly realm: string
  readonly jti?: string
  readonly clientId?: string
  /** The client whose service account the token is about, where no grant is behind it. */
  readonly accountId?: string
  readonly grantId?: string
}

export interface Standing {
  readonly revoked: boolean
  /** What was issued before to the client, or about the account, is refused; epoch milliseconds. */
  readonly clientNotBefore: number | null
  readonly grant?: {
    readonly row: TokenGrantRow
    readonly user: UserRow | undefined
    readonly session: Pick<SessionRow, 'expires_at' | 'last_access' | 'impersonator'> | undefined
    readonly notBefore: number | null
  }
}

const MOST = 64
const columns = ['realm', 'jti', 'clientId', 'accountId', 'grantId'] as const

type Question = Record<'place' | 'realm' | 'jti' | 'client_id' | 'account_id' | 'grant_id', string>

/** The question with this number, as a row of the table of questions. */
const questionAt = (values: Readonly<Record<string, string>>, place: number) =>
  sql`(${sql.lit(String(place))}, ${sql.join(columns.map((column) => values[`${column}${place}`]))})`

const queryFor = preparedPerSize(
  'liveness',
  (db, values: Readonly<Record<string, string>>, size) => {
    const questions = Array.from({ length: size }, (_, place) => questionAt(values, place))
    return db
      .with(
        'asked(place, realm, jti, client_id, account_id, grant_id)',
        () => sql<Question>`(values ${sql.join(questions)})`,
      )
      .selectFrom('asked as a')
      .leftJoin('token_grants as g', (join) =>
        join.onRef('g.id', '=', 'a.grant_id').onRef('g.realm', '=', 'a.realm'),
      )
      .leftJoin('users as u', 'u.id', 'g.user_id')
      .leftJoin('sessions as s', (join) =>
        join.onRef('s.sid', '=', 'g.sid').onRef('s.realm', '=', 'g.realm'),
      )
      .selectAll('u')
      .select([
        'a.place',
        'g.id as grant_id',
        'g.client_id as grant_client_id',
        'g.user_id as grant_user_id',
        'g.sid as grant_sid',
        'g.offline as grant_offline',
        'g.scope as grant_scope',
        'g.data as grant_data',
        'g.created_at as granted_at',
        'g.last_used_at as grant_last_used_at',
        'g.expires_at as grant_expires_at',
        's.expires_at as session_expires_at',
        's.last_access as session_last_access',
        's.impersonator as session_impersonator',
        sql<number | null>`(select 1 from revoked_tokens where jti = a.jti)`.as('revoked'),
        sql<number | null>`(select max(at) from not_before where realm = a.realm and (
          subject_kind = 'realm'
          or (subject_kind = 'client' and subject_id in (a.client_id, a.account_id))))`.as(
          'client_not_before',
        ),
        sql<number | null>`(select max(at) from not_before where realm = g.realm and (
          subject_kind = 'realm'
          or (subject_kind = 'client' and subject_id = g.client_id)
          or (subject_kind = 'user' and subject_id = g.user_id)))`.as('grant_not_before'),
      ])
  },
)

type Row = Awaited<ReturnType<ReturnType<typeof queryFor>['query']>>[number]

const grantOf = (row: Row, realm: string): Standing['grant'] => {
  if (row.grant_id === null) return undefined
  const { session_expires_at: expires_at, session_last_access: last_access } = row
  const { session_impersonator: impersonator } = row
  return {
    row: {
      id: row.grant_id,
      realm,
      client_id: row.grant_client_id,
      user_id: row.grant_user_id,
      sid: row.grant_sid,
      offline: row.grant_offline,
      scope: row.grant_scope,
      data: row.grant_data,
      created_at: row.granted_at,
      last_used_at: row.grant_last_used_at,
      expires_at: row.grant_expires_at,
    } as TokenGrantRow,
    // All columns of the user are in the row, under their own names.
    user: row.id === null ? undefined : (row as UserRow),
    session:
      expires_at === null || last_access === null
        ? undefined
        : { expires_at, last_access, impersonator },
    notBefore: row.grant_not_before,
  }
}

/** `mark` is of a moment of the same request; without one the database is asked. */
export type Liveness = (asked: Asked, mark?: string) => Promise<Standing>

/** How many answers are kept under one mark. */
const KEPT = 10_000

const keyOf = (asked: Asked): string => columns.map((column) => asked[column] ?? '').join(' ')

/** Answers as of the mark that was seen last; what is asked under a mark is read after it, and so never older than the question. */
const keeping = (ask: (asked: Asked) => Promise<Standing>): Liveness => {
  let kept = new Map<string, Promise<Standing>>()
  let keptAt: string | undefined
  return (asked, mark) => {
    if (mark === undefined) return ask(asked)
    if (mark !== keptAt) {
      kept = new Map()
      keptAt = mark
    }
    const key = keyOf(asked)
    const known = kept.get(key)
    if (known) return known
    const answer = ask(asked)
    const own = kept
    if (own.size < KEPT) own.set(key, answer)
    answer.catch(() => own.delete(key))
    return answer
  }
}

export const createLiveness = (db: Kysely<Tables>): Liveness => {
  const ask = gathered(MOST, async (asked: readonly Asked[]) => {
    const { size, query } = queryFor(asked.length)
    const values: Record<string, string> = {}
    for (let place = 0; place < size; place += 1) {
      for (const column of columns) values[`${column}${place}`] = asked[place]?.[column] ?? ''
    }
    const standings: Standing[] = []
    for (const row of await query(db, values)) {
      const place = Number(row.place)
      const grant = grantOf(row, asked[place]?.realm ?? '')
      standings[place] = {
        revoked: row.revoked !== null,
        clientNotBefore: row.client_not_before,
        ...(grant ? { grant } : {}),
      }
    }
    return standings
  })
  return keeping(ask)
}
