/** Text of servers and files is shown without control sequences, and unchanged in machine output (CVE-2021-42574). */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { bundle, newHome } from '../../support/processes/cli.ts'
import { onTerminal } from '../../support/processes/terminal.ts'
import { startRecordingServer } from './fixture/recording-server.ts'

const numbers = [0x00, 0x07, 0x08, 0x0d, 0x1b, 0x7f, 0x80, 0x85, 0x9b, 0x9d, 0x9f, 0x61c, 0x200e]
const more = [0x200f, 0x2028, 0x2029, 0x202a, 0x202d, 0x202e, 0x2066, 0x2069, 0xfeff]
const hostile = [...numbers, ...more].map((code) => String.fromCharCode(code))
const title = `Shop${hostile.join('x')}\u001b[2Jend`

/** A terminal itself sends carriage returns; colours are of the program. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a terminal is sent
const withoutOwn = (screen: string): string => screen.replaceAll(/\u001b\[[\d;]*m|\r/g, '')

const found = (text: string): string[] =>
  hostile.filter((character) => character !== '\r' && withoutOwn(text).includes(character))

const client = { clientId: 'web', name: title, description: `first\n${title}`, redirectUris: [] }
const event = { id: '1', type: title, actor: title, timestamp: 1, realm: 'acme', outcome: title }
const revision = {
  revision: 1,
  at: 1,
  actor: title,
  actorName: title,
  source: title,
  message: title,
}

const answers: readonly (readonly [RegExp, unknown])[] = [
  [
    /\/export/,
    { formatVersion: 1, realm: 'acme', revision: 1, meta: { documents: {} }, clients: [client] },
  ],
  [/\/clients\//, { ...client, realmId: 'acme' }],
  [/\/clients/, [{ ...client, realmId: 'acme' }]],
  [/\/revisions/, [revision]],
  [/\/events/, { content: [event], total: 1, page: 0, size: 1 }],
  [/\/whoami/, { username: title, realm: title, about: title, permissions: [title] }],
]

const problem = {
  code: title,
  detail: title,
  requestId: title,
  errors: [{ field: title, message: title }],
}

const startHostile = () =>
  startRecordingServer(({ url: path = '' }, answer) => {
    const [, body] = answers.find(([pattern]) => pattern.test(path)) ?? [null, problem]
    const status = body === problem ? 409 : 200
    answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })

const commands = [
  ['export'],
  ['export', '-o', 'json'],
  ['get', 'clients'],
  ['get', 'clients', '-o', 'json'],
  ['get', 'client', 'web'],
  ['get', 'client', 'web', '-o', 'yaml'],
  ['history'],
  ['events'],
  ['whoami'],
  ['keys', 'list'],
  ['keys', 'list', '-o', 'json'],
]

const newCaller = async () => {
  const home = newHome({
    IAMCTL_SERVER: (await startHostile()).url,
    IAMCTL_REALM: 'acme',
    IAMCTL_TOKEN: 'token',
  })
  onTestFinished(home.remove)
  return home
}

describe('text of a server', () => {
  it.each(commands.map((words) => [words.join(' '), words] as const))(
    'is harmless in `iamctl %s`, on a terminal and in a pipe',
    async (_, words) => {
      const { env, folder, run } = await newCaller()
      const terminal = onTerminal([process.execPath, bundle, ...words], { env, cwd: folder })
      await terminal.exited
      expect(found(terminal.screen())).toEqual([])
      const { stdout, stderr } = await run(words)
      expect(found(stdout + stderr)).toEqual([])
    },
  )

  it('is the same value in YAML and JSON as the server has it', async () => {
    const { run } = await newCaller()
    const exported = parse((await run(['export'])).stdout) as { clients: unknown[] }
    expect(exported.clients).toMatchObject([{ name: title, description: `first\n${title}` }])
    const json = JSON.parse((await run(['export', '-o', 'json'])).stdout) as typeof exported
    expect(json.clients).toMatchObject([client])
    expect(parse((await run(['get', 'client', 'web', '-o', 'yaml'])).stdout)).toMatchObject(client)
  })

  it('is escaped in the files that an export writes, which validate reads back', async () => {
    const { run, folder } = await newCaller()
    expect((await run(['export', '--out', folder])).code).toBe(0)
    const shown = await run(['fmt', '-'], {
      input: (await run(['export'])).stdout,
    })
    expect(found(shown.stdout)).toEqual([])
  })
})

describe('text of a file', () => {
  const text = `realm: acme\nclients:\n  - { clientId: "a\u202eb", name: "\u009b31m", wrong\u2066: 1 }\n`
  it.each([[['validate']], [['validate', '-o', 'github']], [['fmt', '--check']]])(
    'is harmless in `iamctl %s`',
    async ([...words]) => {
      const { env, folder } = await newCaller()
      writeFileSync(join(folder, 'a.yaml'), text)
      const command = [process.execPath, bundle, ...words, 'a.yaml']
      const terminal = onTerminal(command, { env, cwd: folder })
      await terminal.exited
      expect(found(terminal.screen())).toEqual([])
    },
  )

  it('is harmless where it is formatted on a terminal, and unchanged in a pipe', async () => {
    const { env, folder, run } = await newCaller()
    writeFileSync(join(folder, 'a.yaml'), text.replace(', wrong\u2066: 1', ''))
    const line = `'${process.execPath}' '${bundle}' fmt - < a.yaml`
    const terminal = onTerminal(['sh', '-c', line], { env, cwd: folder })
    await terminal.exited
    expect(found(terminal.screen())).toEqual([])
    const { stdout } = await run(['fmt', '-'], { input: text })
    expect(stdout).toContain('\u202e')
  })
})
