/** The loop on a large realm: plan, apply and a plan with nothing to do, of 1,000 clients and 10,000 users. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadEngine } from '#server/platform/passwords/engine.ts'
import { adminPassword, type Backend, type Server } from '../../backends.ts'
import type { Measurement, Row } from '../../measurement.ts'
import { median, timed } from '../../statistics.ts'

const CLIENTS = 1_000
const USERS = 10_000
/** With nothing to do: one takes a second, and the machine changes its speed within one. */
const PLANS = 9
const files = ['clients.yaml', 'users.yaml']
const credentials = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: adminPassword }
const bundle = fileURLToPath(new URL('../../../../dist/cli.js', import.meta.url))

const writeEstate = (folder: string, hash: string): void => {
  const clients = Array.from(
    { length: CLIENTS },
    (_, i) =>
      `  - clientId: client-${i}\n    publicClient: true\n    grantTypes: [authorization_code, refresh_token]\n    redirectUris: [https://app-${i}.example/callback]\n`,
  )
  const users = Array.from(
    { length: USERS },
    (_, i) =>
      `  - username: user-${i}\n    email: user-${i}@mail.example\n    firstName: Given\n    lastName: Family\n    passwordHash: ${hash}\n`,
  )
  writeFileSync(join(folder, 'iamctl.yaml'), 'source: bench\n')
  writeFileSync(join(folder, 'clients.yaml'), `realm: acme\nclients:\n${clients.join('')}`)
  writeFileSync(join(folder, 'users.yaml'), `realm: acme\nusers:\n${users.join('')}`)
}

/** The most memory that a process had so far, in MB. */
const peakOf = (pid: number): number => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024
  } catch {
    return Number.NaN
  }
}

interface Run {
  readonly seconds: number
  readonly requests: number
  readonly peakMb: number
}

const run = async (
  server: Server,
  folder: string,
  args: readonly string[],
  about: readonly string[] = files,
  identity: Readonly<Record<string, string>> = credentials,
): Promise<Run> => {
  const child = spawn(
    process.execPath,
    [bundle, ...args, ...about, '--quiet', '--debug', '-o', 'json'],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        IAMCTL_SERVER: server.url,
        ...identity,
      },
    },
  )
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  let peakMb = 0
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, peakOf(child.pid ?? 0) || 0)
  }, 20)
  const { ms, value } = await timed(() => once(child, 'exit'))
  clearInterval(watch)
  if (value[0] !== 0) throw new Error(`iamctl ${args.join(' ')} ended with ${value[0]}: ${said}`)
  return { seconds: ms / 1000, requests: Number(/(\d+) requests/.exec(said)?.[1]), peakMb }
}

const measureOn = async (backend: Backend, folder: string): Promise<Row[]> => {
  const database = await backend.create()
  try {
    const server = await database.serve()
    const rows: Row[] = []
    const add = (what: string, runs: readonly Run[]): void => {
      const seconds = runs.map((one) => one.seconds)
      rows.push({
        what,
        on: backend.name,
        s: median(seconds),
        'fastest s': Math.min(...seconds),
        'slowest s': Math.max(...seconds),
        requests: Math.max(...runs.map(({ requests }) => requests)),
        'CLI peak MB': Math.round(Math.max(...runs.map(({ peakMb }) => peakMb))),
        'server peak MB': Math.round(peakOf(server.pid)),
      })
    }
    add('plan of a new realm', [await run(server, folder, ['plan'])])
    add('apply', [await run(server, folder, ['apply', '--auto-approve'])])
    await run(server, folder, ['login'], [])
    const signingIn: Run[] = []
    const signedIn: Run[] = []
    for (let time = 0; time < PLANS; time += 1) {
      signingIn.push(await run(server, folder, ['plan']))
      signedIn.push(await run(server, folder, ['plan'], files, {}))
    }
    add('plan with nothing to do, signed in before', signedIn)
    add('the same, which signs in and out', signingIn)
    return rows
  } finally {
    await database.remove()
  }
}

export const measureGitops: Measurement = async ({ backends }) => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-bench-estate-'))
  try {
    writeEstate(folder, await (await loadEngine()).hash('a password of the bench'))
    const rows: Row[] = []
    for (const backend of backends) rows.push(...(await measureOn(backend, folder)))
    return {
      title: 'the loop on a large realm',
      notes: [
        `${CLIENTS.toLocaleString('en')} clients and ${USERS.toLocaleString('en')} users with Argon2id hashes, in two files; the built program as a process; signing in and out counts in the time and not in the requests`,
        `plans with nothing to do: medians of ${PLANS}, in turn`,
        'limits: at most 3 requests and single-digit seconds; with nothing to do 1 request, under 1 s',
      ],
      rows,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
