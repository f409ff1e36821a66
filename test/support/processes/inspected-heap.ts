/** The heap of a process that runs with `--inspect`, after its garbage was collected, over the protocol of the inspector. */
import type { ServerProcess } from './server-process.ts'

/** For NODE_OPTIONS: on any free port of this machine. */
export const inspectable = '--inspect=127.0.0.1:0'

/** In bytes. */
export const heapOf = async ({ process }: Pick<ServerProcess, 'process'>): Promise<number> => {
  const [, address = ''] = await process.waitForLine(/Debugger listening on (ws:\S+)/)
  const socket = new WebSocket(address)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  let sent = 0
  const call = (method: string): Promise<{ readonly usedSize: number }> => {
    sent += 1
    const id = sent
    return new Promise((resolve) => {
      socket.addEventListener('message', ({ data }) => {
        const answer = JSON.parse(String(data))
        if (answer.id === id) resolve(answer.result)
      })
      socket.send(JSON.stringify({ id, method }))
    })
  }
  await call('HeapProfiler.enable')
  await call('HeapProfiler.collectGarbage')
  const { usedSize } = await call('Runtime.getHeapUsage')
  socket.close()
  return usedSize
}
