/**
 * The thread that owns the write connection; entry of a worker, a bundle of its own. Whatever has arrived by the
 * time a transaction ends is the next transaction.
 */

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { openWriting } from './connections.ts'
import { reasonOf } from './failures.ts'
import { runGroup, type WriteConnection, writeConnection } from './group.ts'
import type { Job, ToMain, ToThread, WriterData } from './messages.ts'

/** Bounds how long the first job of a group waits for the last one. */
const GROUP = 5_000

function serve(port: MessagePort, connection: WriteConnection, first: ToThread): void {
  const jobs: Job[] = []
  let closing = false
  let message: ToThread | undefined = first
  while (message !== undefined) {
    if ('close' in message) closing = true
    else for (const job of message.jobs) jobs.push(job)
    message = receiveMessageOnPort(port)?.message
  }
  for (let start = 0; start < jobs.length; start += GROUP) {
    const outcomes = runGroup(connection, jobs.slice(start, start + GROUP))
    tell(port, { kind: 'outcomes', outcomes })
  }
  if (closing) close(port, connection)
}

function close(port: MessagePort, { database }: WriteConnection): void {
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
  port.close()
}

function tell(port: MessagePort, message: ToMain): void {
  port.postMessage(message)
}

function start(port: MessagePort, { file }: WriterData): void {
  try {
    const connection = writeConnection(openWriting(file))
    port.on('message', (message: ToThread) => serve(port, connection, message))
    tell(port, { kind: 'ready' })
  } catch (error) {
    tell(port, { kind: 'failed', message: reasonOf(error) })
  }
}

if (parentPort === null) throw new Error('this file is the entry of a worker thread')
start(parentPort, workerData)
