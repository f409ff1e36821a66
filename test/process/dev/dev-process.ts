/** `iamctl dev` as a process, its happenings as values, and a small estate to run it on. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { freePort } from '../../support/processes/ports.ts'
import { type CliProcess, type SpawnOptions, spawnCli } from '../../support/processes/processes.ts'
import { temporaryFolder, withKeyPairs } from '../../support/processes/server-process.ts'

/** A line of `--output json`. */
export interface Told {
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: what a line holds depends on its type
  readonly [field: string]: any
}

export interface DevProcess {
  readonly process: CliProcess
  readonly url: string
  readonly port: number
  /** Everything of a type so far. */
  readonly told: (type: string) => readonly Told[]
  /** The first of a type, from the given one on, that fits. */
  readonly wait: (type: string, fits?: (told: Told) => boolean, from?: number) => Promise<Told>
}

export const clientText = (name: string): string => `realm: acme
clients:
  - { clientId: web, name: ${name}, publicClient: true, redirectUris: [https://web.example/] }
`

/** A folder with `iamctl.yaml`, a realm, a client and two people. */
export const newEstate = (): string => {
  const estate = temporaryFolder()
  mkdirSync(join(estate, 'realms'))
  writeFileSync(join(estate, 'iamctl.yaml'), 'source: test-estate\npaths: [realms]\n')
  writeFileSync(join(estate, 'realms', 'clients.yaml'), clientText('First'))
  writeFileSync(
    join(estate, 'realms', 'people.yaml'),
    `realm: acme
users:
  - { username: alice, initialPassword: '\${env:ALICE_PASSWORD}' }
  - { username: bob, initialPassword: eleven purple teapots sing }
`,
  )
  return estate
}

const parse = (line: string): Told[] => {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

/** Starts in the estate's folder; `ready()` of it is `wait('ready')`. */
export const startDev = async (
  cwd: string,
  args: readonly string[] = [],
  { env = {}, ...options }: Omit<SpawnOptions, 'cwd'> = {},
): Promise<DevProcess> => {
  const port = await freePort()
  const output = args.includes('-o') ? [] : ['-o', 'json']
  const process = spawnCli(['dev', ...output, '--port', String(port), ...args], {
    ...options,
    env: { ...withKeyPairs(), ...env },
    cwd,
  })
  const told = (type: string): Told[] =>
    process
      .stdout()
      .split('\n')
      .flatMap(parse)
      .filter((one) => one.type === type)
  // Asked, not killed: it leaves no folder behind then.
  onTestFinished(async () => {
    process.kill('SIGINT')
    await process.exited
  })
  let ended = false
  void process.exited.then(() => {
    ended = true
  })
  return {
    process,
    port,
    url: `http://127.0.0.1:${port}`,
    told,
    async wait(type, fits = () => true, from = 0) {
      for (;;) {
        const isOver = ended
        const found = told(type).slice(from).find(fits)
        if (found !== undefined) return found
        if (isOver)
          throw new Error(`it ended without "${type}"\n${process.stdout()}\n${process.stderr()}`)
        await sleep(20)
      }
    },
  }
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })

export const isListening = ({ port }: Pick<DevProcess, 'port'>): Promise<boolean> => listens(port)

export const untilGone = async (dev: Pick<DevProcess, 'port'>): Promise<void> => {
  while (await isListening(dev)) await sleep(20)
}
