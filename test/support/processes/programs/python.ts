/** A web application in Python that a test brings along, with Debian's libraries, told what it is by a JSON file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../ports.ts'
import { spawnScript } from '../processes.ts'
import { endGroup, untilAnswers } from './answers.ts'
import { pathOf } from './programs.ts'

export interface PythonProgram {
  readonly url: string
  readonly log: () => string
  readonly close: () => Promise<void>
}

/** Texts of `files` become files, of which the script is told the paths. */
export const startPython = async (
  script: string,
  library: 'pysaml2' | 'onelogin',
  {
    files,
    ...told
  }: Readonly<Record<string, unknown>> & {
    readonly files: Readonly<Record<string, string>>
  },
): Promise<PythonProgram> => {
  pathOf(library)
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-python-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const paths = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, file(name, text)]),
  )
  const settings = file('told.json', JSON.stringify({ ...told, ...paths, url, port }))
  const program = spawnScript(script, [settings], {
    runtime: [pathOf('python')],
    cwd: folder,
    env: { PYTHONDONTWRITEBYTECODE: '1' },
  })
  await untilAnswers(url, program)
  return {
    url,
    log: program.stderr,
    close: async () => {
      await endGroup(program)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
