/**
 * A burst of requests that are as large as they may be, against a server as it is run: every answer is small, whatever was
 * sent (CWE-405), and afterwards the heap is what it was (CWE-401).
 */

import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { ApiDocument } from '../openapi/document.ts'
import { type Backend, backends } from '../support/backends.ts'
import { anonymous } from '../support/processes/browserless.ts'
import { heapOf, inspectable } from '../support/processes/inspected-heap.ts'
import {
  newInstallation,
  startServerProcess,
  withKeyPairs,
} from '../support/processes/server-process.ts'

/** Of an answer, headers included. A changeset is told the faults of many documents at once. */
const mostBytes = (path: string): number => (path.endsWith('/changesets') ? 200_000 : 40_000)
/** Old code kept 2.5 MiB of every route. */
const mostKept = 8

interface Door {
  readonly method: string
  readonly path: string
}

interface Sent {
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string
}

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const names = (count: number) => Array.from({ length: count }, (_, i) => `x${i}`)

/** Each within the limits of a body, so that it is read to its end. */
const bursts: Readonly<Record<string, (seed: number) => Sent>> = {
  '80,000 unknown fields': (seed) => ({
    headers: json,
    body: `{${names(80_000).map((name) => `"${name}":${seed}`)}}`,
  }),
  'deep JSON': (seed) => ({ headers: json, body: `{"n${seed}":${'['.repeat(500_000)}` }),
  'JSON as deep as it may be': (seed) => {
    const depth = 60
    return {
      headers: json,
      body: `${`{"n${seed}${'n'.repeat(10_000)}":`.repeat(depth)}1${'}'.repeat(depth)}`,
    }
  },
  '80,000 form fields': (seed) => ({
    headers: form,
    body: names(80_000)
      .map((name) => `${name}=${seed}`)
      .join('&'),
  }),
  'a form field of a megabyte': (seed) => ({
    headers: form,
    body: `client_id=${seed}${'a'.repeat(1_000_000)}`,
  }),
  'a multipart body': (seed) => ({
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    body: `${names(5000)
      .map((name) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${seed}\r\n`)
      .join('')}--b--`,
  }),
  'many headers': (seed) => ({
    headers: {
      ...json,
      ...Object.fromEntries(names(900).map((name) => [`x-${name}`, `${seed}`])),
    },
    body: '{}',
  }),
  'more headers than are read': (seed) => ({
    headers: { ...json, 'x-many': names(3000).map((name) => `${name}${seed}`) },
    body: '{}',
  }),
}

/** How many bytes the answer has; a connection that is closed instead has none. */
const bytesOf = (url: string, { method, path }: Door, cookie: object, { headers, body }: Sent) =>
  new Promise<number>((resolve) => {
    const length = { 'content-length': Buffer.byteLength(body) }
    const asked = request(new URL(path, url), {
      method,
      agent: false,
      headers: { ...headers, ...cookie, ...length },
    })
    asked.on('response', (answer) => {
      let bytes = answer.rawHeaders.join('').length
      answer.on('data', (part: Buffer) => {
        bytes += part.length
      })
      answer.on('close', () => resolve(bytes))
    })
    // The server may refuse the headers or the size before the whole body is sent.
    asked.on('error', () => resolve(0))
    asked.end(body)
  })

const open = async (backend: Backend) => {
  const installation = await newInstallation(backend)
  const NODE_OPTIONS = `${withKeyPairs()['NODE_OPTIONS']} ${inspectable}`
  const server = await startServerProcess({
    ...installation,
    env: { ...installation.env, NODE_OPTIONS },
  })
  const admin = await server.admin()
  const { body } = await anonymous(server.url).send('GET', '/v3/api-docs')
  const { paths } = body as ApiDocument
  // Each of these checks a body of its own kind; a few are enough to see what a kind keeps.
  const collections = Object.keys(paths)
    .filter((path) => /^\/admin\/realms\/\{realm\}\/[\w-]+$/.test(path) && paths[path]?.['post'])
    .map((path) => ({ method: 'POST', path: path.replace('{realm}', 'master') }))
    .slice(0, 8)
  const cookie = {
    cookie: ['iam-session-master', 'XSRF-TOKEN']
      .map((name) => `${name}=${admin.cookie(name)}`)
      .join('; '),
    'x-xsrf-token': admin.cookie('XSRF-TOKEN') ?? '',
  }
  return { server, collections, cookie }
}

const others: readonly Door[] = [
  { method: 'POST', path: '/realms/master/token' },
  { method: 'POST', path: '/realms/master/login' },
  { method: 'POST', path: '/account/me' },
  { method: 'PUT', path: '/admin/realms/master/settings' },
]

describe.each(backends)('after a burst on $name', (backend) => {
  it('no answer has grown, and the heap is what it was', async () => {
    const { server, collections, cookie } = await open(backend)
    expect(collections).toHaveLength(8)
    const large: string[] = []
    const burst = async (what: string, sent: Sent, doors: readonly Door[]): Promise<void> => {
      for (const door of doors) {
        const bytes = await bytesOf(server.url, door, cookie, sent)
        if (bytes > mostBytes(door.path)) large.push(`${bytes} bytes for ${what} at ${door.path}`)
      }
    }
    const doors = [...collections, ...others]
    // What is made once, such as compiled checks, is there before.
    await burst('one unknown field', { headers: json, body: '{"x":1}' }, doors)
    const before = await heapOf(server)
    for (const [what, make] of Object.entries(bursts))
      await burst(what, make(1), what.includes('unknown') ? doors : others)
    expect.soft(large).toEqual([])
    // A request that was refused before it was sent to its end may still be under way.
    const kept = async () => ((await heapOf(server)) - before) / 2 ** 20
    await expect.poll(kept, { interval: 500 }).toBeLessThan(mostKept)
    await server.stop()
  })
})
