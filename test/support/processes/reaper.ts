/**
 * Child process of the test worker: reads process ids, one a line, and kills their process groups when its
 * standard input closes, which happens however the worker dies. A stuck worker is killed without running a hook.
 */
import { createInterface } from 'node:readline'

const groups: number[] = []
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
for await (const line of createInterface({ input: process.stdin })) {
  const pid = Number(line)
  if (Number.isSafeInteger(pid) && pid > 1) groups.push(pid)
}
for (const group of groups) {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // Ended long ago: the usual case.
  }
}
