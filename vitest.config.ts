/**
 * How the tests run. `unit` needs nothing, `server` needs PostgreSQL (one real server for the whole run, see
 * test/support/run/global-setup.ts), `process` also needs the bundle in `dist/` and runs its commands. `operations` runs
 * whole servers: kills, backups, key rotations, several nodes, terminals, guides and pipelines (`npm run test:operations`).
 * `peers` needs programs that npm does not have, such as a browser (`npm run test:peers`). `.ci/run` runs them all.
 *
 * `npm run test:long` runs every file of `server` on SQLite and on PostgreSQL. `npm test` does so with the files about
 * storage itself, and runs the others on SQLite, but for those about several nodes (`divided`); CI (`IAMCTL_TEST_FULL=1`)
 * runs more of them on both, a quarter of the others on PostgreSQL, and longer loops. `npm run test:long` starts a process
 * for every command of `process`; the others do so for the first run of each command, and for those that need it
 * (test/support/processes/warm/run.ts).
 *
 * Files share a worker (isolation costs 0.3 s for every file that imports the server), so no test may use
 * `vi.mock` or leave a changed global behind.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { isFull, isLong } from './test/support/run/chance.ts'
import { LongestFirst } from './test/support/run/longest-first.ts'
import { SummaryReporter } from './test/support/run/summary-reporter.ts'

const unit = [
  'test/architecture*.test.ts',
  'test/{architecture,cli,config,platform,schemas,support,xml}/**/*.test.ts',
]
const commands = 'test/cli/commands/**/*.test.ts'
const operations = 'test/process/**/*.test.ts'
const processes = [commands, operations]
const peers = ['test/peers/**/*.test.ts', 'test/**/*browser.test.ts']
const never = ['test/bench/**']
const chance = 'test/support/run/setup-chance.ts'
const server = {
  exclude: [...unit, ...processes, ...peers, ...never],
  globalSetup: 'test/support/run/global-setup.ts',
  setupFiles: [chance, 'test/support/run/setup-server.ts'],
}
/** Files that compare both databases, or are about storage itself. */
const both = [
  'test/{conformance,storage}/**/*.test.ts',
  'test/monitoring/storage-away.test.ts',
  'test/realm/changesets/changesets-moved.test.ts',
]
/** What the database decides: on both in CI, on one of them in `npm test`. */
const stored = [
  'test/{audit,credentials,engine,jobs,monitoring,realm,sessions,tokens,users}/**/*.test.ts',
  'test/admin/realms.test.ts',
  'test/security/requests/names.test.ts',
  'test/scim/leavers.test.ts',
]
const divided = globSync('test/**/*.test.ts', {
  exclude: [...server.exclude, ...both, ...(isFull ? stored : [])],
}).sort()
/** Several nodes share a database: PostgreSQL alone. */
const ofNodes = globSync([
  'test/**/{nodes,two-nodes}.test.ts',
  'test/audit/{audit-config,audit-stream,outbox}.test.ts',
  'test/jobs/jobs-between-nodes.test.ts',
  'test/oidc/clients/client-assertion.test.ts',
  'test/oidc/discovery/key-rotation.test.ts',
  'test/oidc/logout/backchannel-logout.test.ts',
  'test/oidc/token/grants/refresh-token.test.ts',
  'test/saml/artifact.test.ts',
  'test/security/tokens/{oauth-flows,races}.test.ts',
  'test/workload/revocation.test.ts',
])
/** Thousands of requests each, about rules that no query decides. */
const manyRequests = globSync([
  'test/admin/events.test.ts',
  'test/messaging/limits.test.ts',
  'test/scim-out/{faults,matching,members,provisioning,queue,renames}.test.ts',
  'test/security/admin-api/guard.test.ts',
  'test/security/permissions/every-write.test.ts',
])
/** The database of each file that runs on one of them. On PostgreSQL it takes twice the processor time: one in four, in CI. */
const databaseOf = Object.fromEntries(
  divided.map((path, index) => {
    const isOnPostgres =
      ofNodes.includes(path) || (isFull && index % 4 === 3 && !manyRequests.includes(path))
    return [path, isOnPostgres ? ('postgres' as const) : ('sqlite' as const)]
  }),
)

export default defineConfig({
  test: {
    pool: 'forks',
    // Two more than there are cores: most files wait for a database, a browser or a process for half of their time.
    maxWorkers: 4,
    isolate: false,
    // Node.js reads the code by itself: a transform for every project took a tenth of the processor time of the run.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // On a machine that others share, half of the processor time may be away for minutes.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A thread of a server that is not bundled starts in half the time when its types were stripped before.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/iamctl/compiled') },
    // What comes by itself comes late on a machine that is busy.
    expect: { poll: { timeout: 15_000 } },
    provide: { databaseOf: {} },
    reporters: ['default', new SummaryReporter()],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: unit,
          exclude: [...processes, ...peers, ...never],
          setupFiles: [chance, 'test/support/run/setup-tsx.ts'],
        },
      },
      ...[{ name: 'server' }, { name: 'divided', provide: { databaseOf } }].map((project) => ({
        extends: true as const,
        test: { ...server, include: ['test/**/*.test.ts'], ...project },
      })),
      ...[
        {
          name: 'process',
          include: [commands],
          env: { IAMCTL_TEST_WARM: isLong ? '0' : '1' },
        },
        { name: 'operations', include: [operations] },
      ].map((project) => ({
        extends: true as const,
        test: {
          ...project,
          exclude: [...peers, ...never],
          globalSetup: 'test/support/run/global-setup.ts',
          setupFiles: [chance, 'test/support/processes/end-processes.ts'],
          // After the others: a spawned server wants the cores that in-process tests would take.
          sequence: { groupOrder: 1 },
        },
      })),
      {
        extends: true,
        test: {
          name: 'peers',
          include: peers,
          exclude: never,
          globalSetup: 'test/support/run/global-setup.ts',
          setupFiles: [
            chance,
            'test/support/run/setup-server.ts',
            'test/support/processes/end-processes.ts',
          ],
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
