/**
 * Users from a file to be imported: our own rows, as lines or as JSON, or those of a Keycloak export. Lines are read one by
 * one, first to validate all of them and again to send them; a list is held in memory. Data that cannot be imported is
 * counted and reported.
 */

import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import type { FieldError } from '#schemas/problems.ts'
import type { Diagnostic } from '../../diagnostics.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { converted, isKeycloak, isServiceAccount } from './keycloak-users.ts'

/** A file that can be read from its beginning more than once. */
export interface UserFile {
  readonly name: string
  readonly open: () => Readable
}

export interface ImportedUsers {
  readonly count: number
  /** How many users lose what, by the name of the field. */
  readonly leftOut: ReadonlyMap<string, number>
  /** Service account users of Keycloak clients. */
  readonly serviceAccounts: number
  /** Reads them again. */
  readonly users: () => AsyncIterable<Doc>
  /** Maps problems of the server to the lines of the users in the file. */
  readonly located: (errors: readonly FieldError[]) => Diagnostic[]
}

const formats = 'it holds a user as JSON on each line, a list of users, or an export of Keycloak'
/** Most invalid users to report. */
const mostTold = 100

const invalid = (name: string, diagnostics: readonly Diagnostic[]): CommandError =>
  new CommandError(exitCodes.invalid, `${name} cannot be imported`, { hint: formats, diagnostics })

interface Row {
  /** Of the line, or of the user in a list. */
  readonly number: number
  readonly value: unknown
}

interface Rows {
  readonly read: () => AsyncIterable<Row>
  readonly wrong: (number: number, message: string, code?: string) => Diagnostic
}

/** A realm with its users, or a list of users under that name. */
const isRealm = (value: Doc): boolean =>
  Array.isArray(value['users']) || (typeof value['realm'] === 'string' && !('username' in value))

const bom = /^\uFEFF/

/** The pieces of a long line are joined once, at its end. */
async function* linesOf({ open }: UserFile): AsyncGenerator<string> {
  let pieces: string[] = []
  for await (const chunk of open().setEncoding('utf8') as AsyncIterable<string>) {
    const [end = '', ...others] = chunk.split('\n')
    pieces.push(end)
    for (const next of others) {
      yield pieces.join('')
      pieces = [next]
    }
  }
  yield pieces.join('')
}

/** Undefined for what is no JSON. */
const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

async function* rowsOf(file: UserFile): AsyncGenerator<Row> {
  let number = 0
  for await (const line of linesOf(file)) {
    number += 1
    const content = line.replace(bom, '').trim()
    if (content !== '') yield { number, value: parsed(content) }
  }
}

const lines = (file: UserFile): Rows => ({
  read: () => rowsOf(file),
  wrong: (number, message, code = 'user-row') => ({
    severity: 'error',
    code,
    message,
    place: { file: file.name, line: number, column: 1 },
  }),
})

/** The parser's own words would show what is in the file, hashes of passwords: only its place is taken from them. */
const wholeOf = (name: string, content: string): unknown => {
  try {
    return JSON.parse(content)
  } catch (error) {
    const [, line = '1', column = '1'] = /line (\d+) column (\d+)/.exec(String(error)) ?? []
    const place = { file: name, line: Number(line), column: Number(column) }
    const message = 'this is not JSON'
    throw invalid(name, [{ severity: 'error', code: 'user-row', message, place }])
  }
}

/** Of the realms of an export, the one to take users from; an export of a whole Keycloak server is a list of its realms. */
const chosenRealm = (name: string, realms: readonly Doc[], from: string): Doc => {
  const [only] = realms
  const found = realms.length === 1 ? only : realms.find(({ realm }) => realm === from)
  if (found !== undefined) return found
  const names = realms.map(({ realm }) => realm).join(', ')
  throw new CommandError(
    exitCodes.invalid,
    `${name} has no realm ${from}; its realms are ${names}`,
    {
      hint: 'name the realm of the users with --from-realm',
    },
  )
}

const list = async ({ name, open }: UserFile, from: string): Promise<Rows> => {
  const whole = wholeOf(name, (await text(open())).replace(bom, ''))
  const items: readonly unknown[] = Array.isArray(whole) ? whole : [whole]
  const realms = items.filter((item) => isObject(item)).filter(isRealm)
  const inside = realms.length > 0 ? chosenRealm(name, realms, from)['users'] : items
  const values: readonly unknown[] = Array.isArray(inside) ? inside : []
  return {
    async *read() {
      for (const [index, value] of values.entries()) yield { number: index + 1, value }
    },
    wrong: (number, message, code = 'user-row') => ({
      severity: 'error',
      code,
      message: `user ${number} of ${name}: ${message}`,
    }),
  }
}

/** Lines, if the first of them is a user. */
const formOf = async (file: UserFile, from: string): Promise<Rows> => {
  for await (const { value } of rowsOf(file)) {
    if (isObject(value) && !isRealm(value)) return lines(file)
    break
  }
  return list(file, from)
}

/** What is wrong with one of them, if anything is. */
const faultOf = (value: unknown, miss: (field: string) => void): string | undefined => {
  if (!isObject(value)) return 'this is not a user as JSON'
  try {
    converted(value, miss)
    return undefined
  } catch {
    return isKeycloak(value) ? 'the credentials are not as Keycloak writes them' : undefined
  }
}

/** `from` names the realm to take users from, where the file has several. */
export const importedUsers = async (file: UserFile, from: string): Promise<ImportedUsers> => {
  const { read, wrong } = await formOf(file, from)
  const lost = new Map<string, number>()
  // One row of Keycloak makes all of them Keycloak's, also those that come before it.
  let isForeign = false
  for await (const { value } of read()) {
    isForeign = isObject(value) && isKeycloak(value)
    if (isForeign) break
  }
  const isPerson = (value: unknown): boolean =>
    !(isForeign && isObject(value) && isServiceAccount(value))
  let serviceAccounts = 0
  const miss = (field: string): void => {
    lost.set(field, (lost.get(field) ?? 0) + 1)
  }
  /** By the place in what is sent. */
  const numbers: number[] = []
  const faults: Diagnostic[] = []
  for await (const { number, value } of read()) {
    if (!isPerson(value)) {
      serviceAccounts += 1
      continue
    }
    numbers.push(number)
    const fault = faultOf(value, miss)
    if (fault !== undefined && faults.push(wrong(number, fault)) === mostTold) break
  }
  if (faults.length > 0) throw invalid(file.name, faults)
  if (numbers.length === 0) throw new CommandError(exitCodes.invalid, `${file.name} has no users`)
  return {
    count: numbers.length,
    leftOut: isForeign ? lost : new Map(),
    serviceAccounts,
    async *users() {
      for await (const { number, value } of read()) {
        if (!isObject(value))
          throw invalid(file.name, [wrong(number, 'the file was changed concurrently')])
        if (isPerson(value)) yield isForeign ? converted(value, () => undefined) : value
      }
    },
    located: (errors) =>
      errors.map(({ field, code, message }) => {
        const [, line, rest = ''] = /^\/line\/(\d+)(?:\/(.*))?$/.exec(field) ?? []
        const number = line === undefined ? undefined : numbers[Number(line) - 1]
        if (number === undefined)
          return { severity: 'error', code, message: `${field}: ${message}` }
        return wrong(number, rest === '' ? message : `${rest}: ${message}`, code)
      }),
  }
}
