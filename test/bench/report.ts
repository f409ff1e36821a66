/** Results as tables for people (Markdown) and as a file for programs (JSON). */

import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Result, Row } from './measurement.ts'

export interface Measured {
  readonly name: string
  readonly seconds: number
  /** Of the minute before: what is much above 0 was disturbed by something else. */
  readonly loadBefore: number
  readonly result?: Result
  readonly error?: string
}

const shown = (value: string | number | undefined): string => {
  if (value === undefined || (typeof value === 'number' && Number.isNaN(value))) return ''
  if (typeof value === 'string') return value
  if (Number.isInteger(value) || Math.abs(value) >= 100)
    return Math.round(value).toLocaleString('en')
  return value.toPrecision(3)
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

const table = (rows: readonly Row[]): string[] => {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const numeric = (column: string): boolean =>
    rows.every((row) => row[column] === undefined || typeof row[column] === 'number')
  return [
    line(columns),
    line(columns.map((column) => (numeric(column) ? '--:' : '---'))),
    ...rows.map((row) => line(columns.map((column) => shown(row[column])))),
  ]
}

export const markdown = ({ name, seconds, loadBefore, result, error }: Measured): string => {
  const heading = `## ${name}: ${result?.title ?? 'failed'}`
  const how = `- took ${seconds.toFixed(0)} s; load average before it ${loadBefore.toFixed(1)}`
  const body =
    result === undefined
      ? [error ?? '']
      : [...table(result.rows), '', ...result.notes.map((note) => `- ${note}`), how]
  return `\n${[heading, '', ...body].join('\n')}\n`
}

/** Returns the path of the file. */
export const saveJson = (measured: readonly Measured[]): string => {
  const file = join(
    tmpdir(),
    `iamctl-bench-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.json`,
  )
  const machine = {
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    cores: availableParallelism(),
    processor: cpus()[0]?.model,
  }
  writeFileSync(file, `${JSON.stringify({ machine, measured }, null, 2)}\n`)
  return file
}
