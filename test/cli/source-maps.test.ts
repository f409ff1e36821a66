/** Traces of what is built name the source it was built from. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const source = `interface Reason { readonly why: string }

export const fail = ({ why }: Reason): never => {
  throw new TypeError(why)
}

export const close = (): never => {
  throw Object.assign(new Error('closed'), { code: 'UND_ERR_DESTROYED' })
}
`
const subject = new URL('../../cli/source-maps.ts', import.meta.url)

/** Prints the traces of all files that are named, in a process of its own: traces are a setting of the whole process. */
const script = `
  const [subject, ...files] = process.argv.slice(1)
  const { nameSources } = await import(subject)
  nameSources()
  const traces = []
  for (const file of files) {
    const { fail, close } = await import(file)
    const call = file.includes('closed') ? close : fail
    try { call({ why: 'no reason' }) } catch (error) { traces.push(error.stack.split('\\n')) }
  }
  process.stdout.write(JSON.stringify(traces))
`

describe('the trace of an error', () => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-traces-'))
  const traces = new Map<string, string[]>()

  beforeAll(() => {
    const { code, map } = transformSync(source, {
      loader: 'ts',
      minifyWhitespace: true,
      sourcemap: 'external',
      sourcefile: '../source/fail.ts',
    })
    const names = ['mapped', 'unmapped', 'broken', 'closed']
    const urls = names.map((name) => pathToFileURL(join(folder, `${name}.mjs`)).href)
    for (const url of urls) writeFileSync(fileURLToPath(url), code)
    for (const name of ['mapped', 'closed']) writeFileSync(join(folder, `${name}.mjs.map`), map)
    writeFileSync(join(folder, 'broken.mjs.map'), '{')
    const args = ['--input-type=module', '-e', script, subject.href, ...urls]
    const said: string[][] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
    for (const [index, name] of names.entries()) traces.set(name, said[index] ?? [])
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('names the file, line and column of the source', () => {
    const place = `${join(folder, '../source/fail.ts')}:4:9`
    expect(traces.get('mapped')?.slice(0, 2)).toEqual([
      'TypeError: no reason',
      `    at fail (${place})`,
    ])
  })

  it('reads no map for what undici closes a connection with, which nobody sees', () => {
    const [, first] = traces.get('closed') ?? []
    expect(first).toContain(`at close (${pathToFileURL(join(folder, 'closed.mjs'))}:1:`)
  })

  it.each([
    ['is not there', 'unmapped'],
    ['cannot be read', 'broken'],
  ])('names what is built where the map %s', (_, name) => {
    const [head, first] = traces.get(name) ?? []
    expect(head).toBe('TypeError: no reason')
    expect(first).toContain(`at fail (${pathToFileURL(join(folder, `${name}.mjs`))}:1:`)
  })
})
