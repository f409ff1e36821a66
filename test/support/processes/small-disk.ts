/**
 * A file system of a few megabytes, to see what happens when it is really full (ENOSPC). It is a tmpfs in a mount namespace
 * of its own, so that nothing has to be unmounted: it goes with the process that holds it. Without root the namespace is
 * one of a user namespace, where the kernel and the container allow that.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  /** Where it is for programs that are started with `enter` before their own arguments. */
  readonly path: string
  readonly enter: readonly [string, ...string[]]
  /** Takes every block that is left. */
  fill(): void
  /** Gives them back. */
  free(): void
  remove(): Promise<void>
}

const isRoot = process.getuid?.() === 0
const namespace = isRoot ? ['--mount'] : ['--user', '--map-current-user', '--keep-caps', '--mount']

const mount = (folder: string, megabytes: number): string =>
  `mount -t tmpfs -o size=${megabytes}m,mode=1777 tmpfs '${folder}'`

/** Why there can be none here, or undefined. */
export const noSmallDisk = ((): string | undefined => {
  const { status, stderr, error } = spawnSync(
    'unshare',
    [...namespace, 'sh', '-c', mount('/tmp', 1)],
    { encoding: 'utf8' },
  )
  return status === 0 ? undefined : `cannot mount a tmpfs: ${error?.message ?? stderr.trim()}`
})()

export const mountSmallDisk = async (megabytes: number): Promise<SmallDisk> => {
  // As root not in TMPDIR, which may be private to root: PostgreSQL runs as another user.
  const path = mkdtempSync(join(isRoot ? '/tmp' : tmpdir(), 'iamctl-disk-'))
  // Ends with its standard input, however this process ends.
  const command = `${mount(path, megabytes)} && echo mounted && exec cat`
  const holder = spawn('unshare', [...namespace, 'sh', '-c', command], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(holder, 'exit')
  await Promise.race([
    once(holder.stdout, 'data'),
    exited.then(() => Promise.reject(new Error('the small disk was not mounted'))),
  ])
  const filler = join(`/proc/${holder.pid}/root`, path, 'filler')
  const enter = ['nsenter', `--target=${holder.pid}`, '--mount'] as const
  return {
    path,
    enter: isRoot ? enter : [...enter, '--user', '--preserve-credentials'],
    fill: () => {
      const file = openSync(filler, 'a')
      try {
        for (const block = Buffer.alloc(4096); ; ) writeSync(file, block)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(filler, { force: true }),
    remove: async () => {
      holder.stdin.end()
      await exited
      rmSync(path, { recursive: true, force: true })
    },
  }
}
