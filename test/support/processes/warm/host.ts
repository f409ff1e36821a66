/**
 * Child process of `runWarm`: runs commands one after another. A command is an import of its script under a new URL, with
 * arguments, environment and folder of its own; the modules that the script imports are loaded already. It has ended when the event
 * loop is empty, as a process of its own would: a handle that it leaves open keeps it running.
 */
import type { EventEmitter } from 'node:events'
import { pathToFileURL } from 'node:url'
import { type Command, endOf } from './words.ts'

type Listener = (...args: unknown[]) => void

/** Also reads the streams once, whose first use adds listeners. */
const emitters: readonly EventEmitter[] = [process, process.stdout, process.stderr]

/** Of Node.js: what it takes to end a command whose last promise is never settled. */
const unsettled = 13

let runs = 0
let isSettled = true

const start = async ({ script, args, cwd, env }: Command): Promise<void> => {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.argv = [process.execPath, script, ...args]
  process.exitCode = undefined
  runs += 1
  isSettled = false
  await import(`${pathToFileURL(script)}?${runs}`)
  isSettled = true
}

const removeListeners = (): void => {
  for (const emitter of emitters)
    for (const name of emitter.eventNames())
      for (const listener of emitter.listeners(name) as Listener[])
        if (!own.has(listener)) emitter.off(name, listener)
}

process.on('message', (command: Command) => {
  process.channel?.unref()
  void start(command)
})

process.on('beforeExit', () => {
  // A command that listens for the end of its process gets one.
  if (!process.connected || process.listenerCount('exit') > 0) return
  const code = Number(process.exitCode ?? (isSettled ? 0 : unsettled))
  removeListeners()
  for (const stream of [process.stdout, process.stderr]) stream.write(endOf(code))
  process.channel?.ref()
})

const own = new Set(
  emitters.flatMap((emitter) => emitter.eventNames().flatMap((name) => emitter.listeners(name))),
)
