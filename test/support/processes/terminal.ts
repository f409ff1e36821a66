/** A program on a pseudo-terminal (`script` of util-linux), and what a person at it sees and types. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

export interface Terminal {
  /** Everything that was shown, with what the terminal itself echoed. */
  readonly screen: () => string
  /** Resolves when the text has been shown, `times` times. */
  readonly waitFor: (text: string, times?: number) => Promise<void>
  readonly type: (text: string) => void
  readonly exited: Promise<number | null>
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

export interface TerminalOptions {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly columns?: number
}

export const onTerminal = (
  command: readonly string[],
  { env, cwd, columns = 100 }: TerminalOptions,
): Terminal => {
  const line = `stty cols ${columns} rows 40; exec ${command.map(quoted).join(' ')}`
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    env: { TERM: 'xterm-256color', SHELL: '/bin/sh', ...env },
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let shown = ''
  const watchers = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      for (const watch of watchers) watch()
    })
  const exited = once(child, 'close').then(([code]): number | null => code)
  return {
    screen: () => shown,
    exited,
    type: (text) => void child.stdin.write(text),
    waitFor: (text, times = 1) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (shown.split(text).length <= times) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        exited.then(
          () => reject(new Error(`it ended before it showed "${text}":\n${shown}`)),
          reject,
        )
        look()
      }),
  }
}
