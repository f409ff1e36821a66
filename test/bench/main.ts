/**
 * `npm run bench`: the figures that count, each as a ratio to a limit or a peer that was measured
 * in the same run. `npm run bench -- lists users` runs only these. It asserts nothing: it fails only when something
 * cannot be measured.
 */

import { loadavg } from 'node:os'
import { openBackends } from './backends.ts'
import type { Bench, Measurement } from './measurement.ts'
import { measureCreates } from './measurements/admin-api/creates.ts'
import { measureEvents } from './measurements/admin-api/events.ts'
import { measureImport } from './measurements/admin-api/import.ts'
import { measureLists } from './measurements/admin-api/lists.ts'
import { measureUsers } from './measurements/admin-api/users.ts'
import { measureDev } from './measurements/cli/dev.ts'
import { measureGitops } from './measurements/cli/gitops.ts'
import { measureVersion } from './measurements/cli/version.ts'
import { measureAuthz } from './measurements/protocols/authz.ts'
import { measureBroker } from './measurements/protocols/broker.ts'
import { measureDelegation } from './measurements/protocols/delegation.ts'
import { measureIssuer } from './measurements/protocols/issuer.ts'
import { measurePages } from './measurements/protocols/pages.ts'
import { measureSaml } from './measurements/protocols/saml.ts'
import { measureSamlSso } from './measurements/protocols/saml-sso.ts'
import { measureScimIn } from './measurements/protocols/scim-in.ts'
import { measureScimOut } from './measurements/protocols/scim-out.ts'
import { measureSignIns } from './measurements/protocols/sign-ins.ts'
import { measureWebhooks } from './measurements/protocols/webhooks.ts'
import { measureWorkload } from './measurements/protocols/workload.ts'
import { measureWorkloadRefusals } from './measurements/protocols/workload-refusals.ts'
import { measureDirectory } from './measurements/server/directory.ts'
import { measureGroupCommit } from './measurements/server/group-commit.ts'
import { measureMemory } from './measurements/server/memory.ts'
import { measureNeighbours } from './measurements/server/neighbours.ts'
import { measureStartUp } from './measurements/server/start-up.ts'
import { measureStorm } from './measurements/server/storm.ts'
import { measureTuning } from './measurements/server/tuning.ts'
import { type Measured, markdown, saveJson } from './report.ts'
import { timed } from './statistics.ts'

const measurements: Readonly<Record<string, Measurement>> = {
  version: measureVersion,
  'start-up': measureStartUp,
  dev: measureDev,
  gitops: measureGitops,
  creates: measureCreates,
  'group-commit': measureGroupCommit,
  lists: measureLists,
  users: measureUsers,
  import: measureImport,
  events: measureEvents,
  neighbours: measureNeighbours,
  saml: measureSaml,
  'saml-sso': measureSamlSso,
  'sign-ins': measureSignIns,
  broker: measureBroker,
  storm: measureStorm,
  pages: measurePages,
  issuer: measureIssuer,
  authz: measureAuthz,
  delegation: measureDelegation,
  webhooks: measureWebhooks,
  scim: measureScimIn,
  'scim-out': measureScimOut,
  workload: measureWorkload,
  'workload-refusals': measureWorkloadRefusals,
  directory: measureDirectory,
  memory: measureMemory,
  tuning: measureTuning,
}

/** Takes so long that it runs only where it is named. */
const onlyNamed: ReadonlySet<string> = new Set(['memory', 'tuning', 'directory'])

const progress = (text: string): void => {
  process.stderr.write(`  ${text}\n`)
}

const measure = async (name: string, measurement: Measurement, bench: Bench): Promise<Measured> => {
  progress(name)
  const [loadBefore = Number.NaN] = loadavg()
  const { ms, value } = await timed(() =>
    measurement(bench).then(
      (result) => ({ result }),
      (error: unknown) => ({ error: error instanceof Error ? String(error.stack) : String(error) }),
    ),
  )
  return { name, seconds: ms / 1000, loadBefore, ...value }
}

const run = async (names: readonly string[]): Promise<Measured[]> => {
  const { all, serveBare, serveScript, close } = openBackends()
  const measured: Measured[] = []
  try {
    for (const name of names) {
      const measurement = measurements[name]
      if (measurement === undefined) continue
      const bench = { backends: all, serveBare, serveScript, progress }
      const done = await measure(name, measurement, bench)
      measured.push(done)
      process.stdout.write(markdown(done))
    }
  } finally {
    await close()
  }
  return measured
}

const given = process.argv.slice(2)
const usual = Object.keys(measurements).filter((name) => !onlyNamed.has(name))
const strange = given.filter((name) => !Object.hasOwn(measurements, name))
if (strange.length > 0) {
  process.stderr.write(
    `no measurement ${strange.join(', ')}: there are ${Object.keys(measurements).join(', ')}\n`,
  )
  process.exitCode = 1
} else {
  const measured = await run(given.length > 0 ? given : usual)
  process.stdout.write(`\n${saveJson(measured)}\n`)
  process.exitCode = measured.some(({ error }) => error !== undefined) ? 1 : 0
}
