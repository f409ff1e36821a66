/** Every architecture rule reports planted faults, and accepts similar code that is allowed. */
import { describe, expect, it } from 'vitest'
import { rules } from './rules.ts'
import { treeOf } from './tree.ts'

interface Planted {
  /** Files that break the rule, each in its own way. */
  readonly wrong: readonly Readonly<Record<string, string>>[]
  /** Files that look alike and are allowed. */
  readonly right: Readonly<Record<string, string>>
}

const lines = (count: number): string => 'export {}\n'.repeat(count)
const filesIn = (folder: string, count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${folder}/file-${i}.ts`, '']))
const kinds = {
  'schemas/kinds/clients/client.ts': `export const Client = defineKind({ kind: 'client' })`,
}

const planted: Readonly<Record<string, Planted>> = {
  'a folder imports only lower floors and its left neighbours': {
    wrong: [
      { 'schemas/kind.ts': `import { app } from '#server/run/app.ts'` },
      { 'schemas/kind.ts': `import type { View } from '../cli/views/plan.ts'` },
      { 'server/config/http.ts': `import { newId } from '#server/platform/ids.ts'` },
      { 'server/storage/documents.ts': `export * from '../resources/write.ts'` },
      { 'server/storage/documents.ts': `let w: import('#server/realm/write/write.ts').Write` },
      { 'server/storage/sqlite.ts': `new URL('../resources/thread.ts', import.meta.url)` },
      { 'server/users/users.ts': `import { open } from '#server/sessions/open.ts'` },
      { 'server/oidc/token.ts': `import { sign } from '#server/saml/sign.ts'` },
      { 'server/provisioning/dcr.ts': `import { words } from '#server/oidc/vocabulary.ts'` },
      { 'server/admin/routes.ts': `await import('#server/run/app.ts')` },
      { 'cli/commands/server/operations.ts': `import { start } from '#server/run/main.ts'` },
      { 'cli/commands/server/operations.ts': `await import('#server/run/app.ts')` },
      { 'cli/commands/estate/dev.ts': `await import('#server/run/main.ts')` },
      { 'server/http/app.ts': `import { freePort } from '../support/processes/ports.ts'` },
    ],
    right: {
      'cli/commands/server/operations.ts': `const { start } = await import('#server/run/main.ts')`,
      'cli/version.ts': `import manifest from '../package.json' with { type: 'json' }`,
      'cli/planning/plan.ts': `import { diff } from '#schemas/diff.ts'`,
      'server/http/app.ts': `import '../platform/ids.ts'; import type { Http } from '#server/config/http.ts'`,
      'server/sessions/open.ts': `import { findUser } from '#server/users/users.ts'`,
      'server/admin/routes.ts': `import { mint } from '#server/oidc/token.ts'; import './openapi.ts'`,
      'server/run/main.ts': `import { app } from './app.ts'; import { log } from './platform/logger.ts'`,
    },
  },
  'every file of the server stands on a floor': {
    wrong: [{ 'server/globals.ts': '' }, { 'server/things/thing.ts': '' }],
    right: { 'server/run/main.ts': '', 'server/run/app.ts': '', 'server/keys/rotate.ts': '' },
  },
  'there is no import cycle': {
    wrong: [
      { 'schemas/a.ts': `import './b.ts'`, 'schemas/b.ts': `import { a } from '#schemas/a.ts'` },
      {
        'server/keys/a.ts': `export * from './b.ts'`,
        'server/keys/b.ts': `import { type C } from './c.ts'`,
        'server/keys/c.ts': `await import('./a.ts')`,
      },
      { 'cli/a.ts': `import './a.ts'` },
      {
        'schemas/a.ts': `import { b } from './b.ts'`,
        'schemas/b.ts': `import type { A } from './a.ts'`,
      },
    ],
    right: {
      'schemas/a.ts': `import './b.ts'; import './c.ts'`,
      'schemas/b.ts': `import './c.ts'`,
      'schemas/c.ts': `export type { D } from './d.ts'`,
    },
  },
  'every table has an owner': {
    wrong: [
      { 'server/storage/tables/tables.ts': 'export interface Tables { teapots: TeapotRow }' },
      { 'server/storage/tables/tables.ts': 'export interface Tables { users: UserRow }' },
    ],
    right: {
      'server/storage/tables/tables.ts': 'export interface Rows { teapots: TeapotRow }',
    },
  },
  'a table is written from the folder of its owner alone': {
    wrong: [
      { 'server/admin/users/lock.ts': `db.updateTable('users').set({ locked: 1 })` },
      { 'server/admin/users/lock.ts': `db.insertInto('user_roles').values(row)` },
      { 'server/realm/erasure.ts': `db.with('gone', (q) => q.deleteFrom('jobs').returningAll())` },
      { 'server/oidc/codes.ts': `const end = sql\`delete from sessions where \${which}\`` },
      { 'server/oidc/codes.ts': `sql\`with a as (select 1) update "token_grants" set x = 1\`` },
      { 'server/admin/x.ts': `db.executeQuery(raw('insert into credentials values (1)'))` },
      { 'server/admin/x.ts': `const table = 'users' as const; db.deleteFrom(table)` },
      { 'server/tokens/x.ts': `sql\`delete from \${sql.table(name)} where 1 = 1\`` },
      {
        'server/sign-in/x.ts': `import { insertRows as rows } from '#server/storage/statements.ts'
          rows(db, 'users', [user])`,
      },
      {
        'server/sign-in/x.ts': `import { take } from '#server/storage/statements.ts'
          take(db, 'invitations', { id }, 'invitation')`,
      },
    ],
    right: {
      'server/users/users.ts': `import { insertRows } from '#server/storage/statements.ts'
        insertRows(db, 'users', [user]); db.deleteFrom('user_names')`,
      'server/oidc/expired.ts': `for (const t of ['pushed_requests', 'consents']) db.deleteFrom(t)`,
      'server/admin/users/list.ts': `db.selectFrom('users').innerJoin('sessions', 'a', 'b')`,
      'server/jobs/store.ts': `sql\`with due as (select 1) update jobs set x = 1\``,
      'server/storage/migrations/0001-first.ts': `sql\`update users set locked = 0\``,
      'server/http/rate-limit.ts': `limiter.take(key, 'users'); take(key, 'users')`,
      'server/admin/texts.ts': `const text = 'Update users, then set their locks'`,
    },
  },
  'a table of another owner is read for a purpose that is listed': {
    wrong: [
      { 'server/admin/users/list.ts': `db.selectFrom('users').selectAll()` },
      { 'server/admin/users/list.ts': `db.selectFrom(['audit_events', 'users as u'])` },
      { 'server/oidc/codes.ts': `db.selectFrom('consents').leftJoin('sessions as s', 'a', 'b')` },
      { 'server/oidc/codes.ts': `sql\`exists (select 1 from consents, sessions where a = b)\`` },
      { 'server/oidc/codes.ts': `sql\`select 1 from consents join "users" on true\`` },
      { 'server/oidc/codes.ts': `const t = 'users' as const; db.selectFrom(t)` },
      {
        'server/tokens/access/organizations.ts': `db.selectFrom('sessions'); db.selectFrom('users')`,
      },
      { 'server/tokens/access/organizations.ts': 'export {}' },
    ],
    right: {
      'server/users/users.ts': `db.selectFrom('users').leftJoin('credentials', 'a', 'b')`,
      'server/tokens/access/organizations.ts': `db.selectFrom('sessions').select('sid')`,
      'server/jobs/store.ts': `db.with('due', (q) => q.selectFrom('jobs')).selectFrom('due')`,
      'server/admin/texts.ts': `Buffer.from(text); const words = 'the names come from users'`,
      'server/storage/backup/copy.ts': `db.selectFrom('users').selectAll()`,
    },
  },
  'schemas and the plan do no input or output': {
    wrong: [
      { 'schemas/kind.ts': `import { readFileSync } from 'node:fs'` },
      { 'cli/planning/plan.ts': `import { request } from 'undici'` },
    ],
    right: {
      'schemas/hash.ts': `import { createHash } from 'node:crypto'`,
      'schemas/editor/generate.ts': `import { writeFileSync } from 'node:fs'`,
      'cli/load/read.ts': `import { readFileSync } from 'node:fs'`,
    },
  },
  'a source file has at most 400 lines, a test 500': {
    wrong: [{ 'server/run/app.ts': lines(401) }, { 'test/oidc/pkce.test.ts': lines(501) }],
    right: { 'server/run/app.ts': lines(400), 'test/oidc/pkce.test.ts': lines(500) },
  },
  'no folder is a junk drawer': {
    wrong: [
      { 'server/utils/x.ts': '' },
      { 'cli/load/helpers/x.ts': '' },
      { 'templates/common/page.eta': '' },
      { 'test/lib/x.ts': '' },
      { 'schemas/misc/x.ts': '' },
    ],
    right: { 'server/http/common.ts': '', 'server/library/x.ts': '' },
  },
  'a folder has at most 16 loose files': {
    wrong: [
      filesIn('server/keys', 17),
      filesIn('test/security', 17),
      filesIn('cli/views/human', 17),
      filesIn('server/storage/migrations', 16),
    ],
    right: {
      ...filesIn('server/keys', 16),
      ...filesIn('server/keys/signing', 16),
      ...filesIn('server/storage/migrations', 30),
      ...filesIn('templates/pages', 50),
    },
  },
  'only views and the logger write to standard output': {
    wrong: [
      { 'server/run/app.ts': `console.log('x')` },
      { 'server/run/app.ts': `import { Console } from 'node:console'` },
      { 'schemas/kind.ts': `globalThis.console.warn('x')` },
      { 'cli/commands/plan.ts': `process.stdout.write('x')` },
      { 'cli/commands/plan.ts': `const { log } = console` },
      { 'cli/commands/plan.ts': `process['stdout'].write('x')` },
      { 'cli/commands/plan.ts': `import { stdout as out } from 'node:process'` },
      { 'cli/commands/plan.ts': `fs.writeSync(1, 'x')` },
    ],
    right: {
      'cli/views/human/plan.ts': `process.stdout.write('x')`,
      'server/platform/logger.ts': `process.stdout.write('x')`,
      'cli/main.ts': `process.stderr.write('x'); const page = { console: 'console.log(1)' }`,
      'cli/commands/run.ts': `child.stdout.pipe(sink) // not console.log`,
    },
  },
  'the output format of a command is chosen in one place': {
    wrong: [
      { 'cli/commands/keys/list.ts': `if (call.output === 'json') printJson(keys)` },
      { 'cli/commands/keys/list.ts': `const { output } = call` },
      { 'cli/views/human/keys.ts': `const show = ({ output }) => output` },
      { 'cli/planning/estate.ts': `const isHuman = 'human' === format` },
      { 'cli/views/keys.ts': `switch (format) { case 'markdown': break }` },
      { 'cli/apply/report.ts': `if (['json', 'yaml'].includes(format)) print()` },
      { 'cli/apply/report.ts': `const chosen = process.env['IAMCTL_OUTPUT']` },
      { 'cli/apply/report.ts': `const view = views[call.output]` },
    ],
    right: {
      'cli/invocation/output.ts': `if (format !== 'json') remark(env['IAMCTL_OUTPUT'])`,
      'cli/commands/keys/list.ts': `const views = { human: () => showKeys, json: () => printJson }`,
      'cli/views/human/init.ts': `const name = ci === 'github' ? 'GitHub' : 'GitLab'`,
      'cli/validate/checks/secrets.ts': `const isHash = schema.format === 'password-hash'`,
      'server/platform/logger.ts': `if (format === 'json') write()`,
    },
  },
  'reading, checking, planning and adopting files import no view': {
    wrong: [
      { 'cli/load/users/send.ts': `import { runSteps } from '../../views/human/progress.ts'` },
      { 'cli/validate/validate.ts': `import type { Frames } from '../views/human/frames.ts'` },
      { 'cli/planning/estate/estate.ts': `await import('../../views/human/estate.ts')` },
      { 'cli/adopt/text/print.ts': `export * from '../../views/yaml/value.ts'` },
    ],
    right: {
      'cli/views/human/plan.ts': `import { plan } from '../../planning/plan.ts'`,
      'cli/apply/apply-estate.ts': `import { approve } from '../views/human/approval.ts'`,
      'cli/planning/plan.ts': `import { views } from './views.ts'`,
    },
  },
  'a command loads heavy packages when it runs, not at every start': {
    wrong: [
      { 'cli/program.ts': `import { request } from 'undici'` },
      {
        'cli/program.ts': `import { get } from './commands/get.ts'`,
        'cli/commands/get.ts': `import { kinds } from '#schemas/registry.ts'`,
        'schemas/registry.ts': `import Type from 'typebox'`,
      },
    ],
    right: {
      'cli/program.ts': `import { Command } from 'commander'; import './commands/get.ts'`,
      'cli/commands/get.ts': `import type { Api } from '../client/api.ts'; await import('../client/api.ts')`,
      'cli/client/api.ts': `import { request } from 'undici'`,
    },
  },
  'there is one Ajv factory': {
    wrong: [
      { 'server/http/bodies.ts': `import { Ajv2020 } from 'ajv/dist/2020.js'` },
      { 'cli/validate/check.ts': `const { Ajv } = await import('ajv')` },
      { 'schemas/views.ts': `import addFormats from 'ajv-formats'` },
    ],
    right: {
      'schemas/ajv.ts': `import { Ajv2020 } from 'ajv/dist/2020.js'`,
      'schemas/code.ts': `import standalone from 'ajv/dist/standalone/index.js'`,
      'schemas/problems.ts': `import type { ErrorObject } from 'ajv'`,
    },
  },
  'received XML is read in one folder': {
    wrong: [
      { 'server/saml/sso.ts': `import { SaxesParser } from 'saxes'` },
      { 'server/saml/sso.ts': `import { SignedXml } from 'xml-crypto'` },
      { 'server/saml/encrypt.ts': `import xmlenc from 'xml-encryption'` },
      { 'server/saml/metadata.ts': `await import('samlify')` },
      { 'server/broker/saml.ts': `import { DOMParser } from '@xmldom/xmldom'` },
      { 'server/broker/saml.ts': `import type { Profile } from '@node-saml/node-saml'` },
      { 'cli/commands/import.ts': `import { parseStringPromise } from 'xml2js'` },
    ],
    right: {
      'server/xml/parse.ts': `import { SaxesParser } from 'saxes'`,
      'server/saml/sso.ts': `import { readSigned } from '#server/xml/index.ts'`,
      'test/xml/messages.ts': `import { SignedXml } from 'xml-crypto'`,
    },
  },
  'only the guarded client makes requests': {
    wrong: [
      { 'server/federation/jwks.ts': `import { request } from 'undici'` },
      { 'server/federation/jwks.ts': `await fetch('https://example.com')` },
      { 'server/federation/jwks.ts': `const load = options.load ?? globalThis.fetch` },
      { 'server/federation/jwks.ts': `createJwks({ fetch })` },
      { 'server/federation/jwks.ts': `import { get } from 'node:https'` },
      { 'server/federation/jwks.ts': `import https from 'node:https'; https.request('x')` },
      { 'server/federation/jwks.ts': `import * as http from 'http'; http['get']('x')` },
      { 'cli/commands/plan.ts': `new WebSocket('ws://x')` },
    ],
    right: {
      'server/platform/outgoing/client.ts': `import { request } from 'undici'; fetch('x')`,
      'cli/client/client.ts': `fetch('https://127.0.0.1')`,
      'server/http/listen.ts': `import http, { createServer } from 'node:http'; http.createServer()`,
      'server/federation/jwks.ts': `outgoing.fetch('x'); app.get('/x'); interface O { fetch: string }`,
    },
  },
  'nothing but a kind and its behaviour asks which kind it is': {
    wrong: [
      { 'server/realm/write/write.ts': `switch (kind) { case 'client': break }` },
      { 'server/realm/write/write.ts': `if (doc.kind === 'client') go()` },
      { 'server/admin/actions.ts': `go('client' !== operation?.kind)` },
      { 'cli/planning/plan.ts': `const wide = ['client', 'user'].includes(doc['kind'])` },
      { 'schemas/views.ts': 'if (kind == `client`) go()' },
    ].map((files) => ({ ...kinds, ...files })),
    right: {
      ...kinds,
      'server/realm/behaviours/client.ts': `if (doc.kind === 'client') go()`,
      'server/realm/write/write.ts': `if (doc.kind === other.kind) go(); const k = { kind: 'client' }`,
      'cli/planning/plan.ts': `if (change.kind === 'added' || actor.type === 'client') go()`,
    },
  },
  'the audience of an access token is read in server/tokens alone': {
    wrong: [
      { 'server/admin/bearer.ts': `[verified.claims['aud']].flat().includes(audience)` },
      { 'server/oidc/token/introspect.ts': `claims.aud === clientId` },
      { 'server/self-service/bearer-caller.ts': `const { scope, aud } = token.claims` },
      { 'server/provisioning/caller.ts': `const isFor = ({ claims: { aud } }) => aud === url` },
    ],
    right: {
      'server/tokens/access/presented.ts': `const isFor = ({ aud }, audience) => aud === audience`,
      'server/oidc/logout/logout.ts': `if (idToken.aud !== client.clientId) throw refused()`,
      'server/oidc/token/userinfo.ts': `sign({ ...answer, aud: client.clientId })`,
      'server/broker/protocols/oidc/id-token.ts': `const audiences = [claims.aud ?? []].flat()`,
    },
  },
  'an area is opened with what it needs by name': {
    wrong: [
      { 'server/oidc/open.ts': `createEndpoints({ ...needs.tokens, clock })` },
      { 'server/run/open.ts': `const areas = { ...users, ...tokens }` },
      { 'server/run/background.ts': `webhookDeliveries({ ...webhooks, send })` },
      { 'server/oidc/authorize/authorize.ts': `createFlow({ ...parts, consents })` },
      { 'server/sign-in/pages/routes.ts': `createVisits({ ...needs })` },
    ],
    right: {
      'server/oidc/open.ts': `createEndpoints({ tokens, clock }); const all = [...grants, ...methods]`,
      'server/run/housekeeping.ts': `append([...areas.sessions.forgetStatements(name)])`,
      'server/run/reset-admin.ts': `record({ ...event, type: 'RESET_PASSWORD' })`,
      'server/admin/actions.ts': `impersonate({ ...user, cookies })`,
      'server/xml/query.ts': `const octets = [...parts, algorithm].join('&')`,
    },
  },
  'a source file opens with a comment that names its purpose, a kind with its `doc`': {
    wrong: [
      { 'server/run/app.ts': `import { open } from './open.ts'` },
      { 'cli/main.ts': `import { run } from './run.ts'\n\n/** Runs it. */\nrun()` },
    ],
    right: {
      'server/run/app.ts': `/** The routes. */\n\nimport { open } from './open.ts'`,
      'schemas/kinds/clients/client.ts': `import Type from 'typebox'`,
      'test/app.test.ts': `import { it } from 'vitest'`,
    },
  },
  'no work is left behind in a comment, and no type error is hidden': {
    wrong: [
      { 'server/run/app.ts': '// TODO: later' },
      { 'test/app.test.ts': '/* FIXME */' },
      { 'build.ts': '// @ts-ignore' },
      { 'cli/main.ts': '// @ts-nocheck' },
    ],
    right: { 'server/run/app.ts': `const text = 'TODO'; const todo = /FIXME/ // todo lists` },
  },
  'a comment names no file that is not there, so that a move takes the texts along': {
    wrong: [
      { 'server/run/app.ts': '// as in `gone.ts`' },
      { 'server/run/app.ts': '/** `admin/app.ts` has the rest. */' },
    ],
    right: {
      'server/run/app.ts': '// `app.ts`, `run/app.ts` and ./app.ts are this file, <name>.ts any',
    },
  },
  'the subject of a comment is a noun, not “who”': {
    wrong: [
      { 'server/run/app.ts': '// Who reads it is let in.' },
      { 'server/run/app.ts': '/** Deleted only by who owns it. */' },
    ],
    right: { 'server/run/app.ts': '// Users who read it are let in.' },
  },
}

describe.each(rules)('the rule that $title', ({ title, broken }) => {
  const { wrong, right } = planted[title] ?? { wrong: [], right: {} }

  it('finds what is planted', () => {
    expect(wrong.length).toBeGreaterThan(0)
    expect(wrong.filter((files) => broken(treeOf(files)).length === 0)).toEqual([])
  })

  it('lets the lawful neighbour pass', () => {
    expect(Object.keys(right).length).toBeGreaterThan(0)
    expect(broken(treeOf(right))).toEqual([])
  })
})
