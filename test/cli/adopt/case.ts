/**
 * Cases of `adopt`: files, the realm as it is, and the files afterwards. A text file holds many: `##### name options`,
 * then `=== file` for each file, `=== live`, and what must come out: `=== after file` for each that changes, and
 * `=== refused` for what is left as it is.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Case {
  readonly name: string
  readonly options: ReadonlySet<string>
  readonly files: ReadonlyMap<string, string>
  readonly live: string
  readonly after: ReadonlyMap<string, string>
  readonly refused: readonly string[]
}

const folder = fileURLToPath(new URL('./cases/', import.meta.url))
const names = readdirSync(folder).sort()

/** The bytes that a file of the case has; the text file itself is plain. */
export const bytesOf = ({ options }: Case, file: string, text: string): string => {
  const shaped =
    options.has('crlf') && !file.endsWith('live') ? text.replaceAll('\n', '\r\n') : text
  const cut = options.has('no-final-break') ? shaped.replace(/\r?\n$/, '') : shaped
  return options.has('bom') ? `\ufeff${cut}` : cut
}

const parse = (text: string): Case => {
  const [head = '', ...parts] = text.split(/^=== /m)
  const [name = '', ...options] = head.trim().split(' ')
  const sections = parts.map((part): [string, string] => {
    const cut = part.indexOf('\n')
    return [part.slice(0, cut), part.slice(cut + 1)]
  })
  const of = (title: string): string => sections.find(([one]) => one === title)?.[1] ?? ''
  const isFile = (title: string): boolean => !/^(live|refused|after .*)$/.test(title)
  return {
    name,
    options: new Set(options),
    files: new Map(sections.filter(([title]) => isFile(title))),
    live: of('live'),
    after: new Map(
      sections.flatMap(([title, body]): [string, string][] =>
        title.startsWith('after ') ? [[title.slice('after '.length), body]] : [],
      ),
    ),
    refused: of('refused')
      .split('\n')
      .filter((line) => line !== ''),
  }
}

const casesIn = (name: string): Case[] =>
  readFileSync(folder + name, 'utf8')
    .split(/^##### /m)
    .slice(1)
    .map(parse)

export const cases: readonly Case[] = names.flatMap(casesIn)

const textOf = ({ name, options, files, live, after, refused }: Case): string =>
  [
    `##### ${[name, ...options].join(' ')}\n`,
    ...[...files].map(([file, text]) => `=== ${file}\n${text}`),
    `=== live\n${live}`,
    ...[...after].map(([file, text]) => `=== after ${file}\n${text}`),
    ...(refused.length === 0 ? [] : [`=== refused\n${refused.join('\n')}\n`]),
  ].join('')

/** Writes the cases anew with what came out; every one is to be read before it is committed. */
export const saveCases = (changed: ReadonlyMap<string, Case>): void => {
  for (const name of names)
    writeFileSync(
      folder + name,
      casesIn(name)
        .map((one) => textOf(changed.get(one.name) ?? one))
        .join(''),
    )
}
