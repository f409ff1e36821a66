/** An npm registry on 127.0.0.1 that has what is installed here: a package installs as from the real one, without a network. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const modules = fileURLToPath(new URL('../../../../node_modules', import.meta.url))

interface Installed {
  readonly folder: string
  readonly manifest: { readonly name: string; readonly version: string }
}

/** Every package below a folder of modules, also those that another one has for itself. */
const installedIn = (folder: string): Installed[] =>
  readdirSync(folder).flatMap((name): Installed[] => {
    const path = join(folder, name)
    if (name.startsWith('@')) return installedIn(path)
    const file = join(path, 'package.json')
    if (name.startsWith('.') || !existsSync(file)) return []
    const inner = join(path, 'node_modules')
    return [
      { folder: path, manifest: JSON.parse(readFileSync(file, 'utf8')) },
      ...(existsSync(inner) ? installedIn(inner) : []),
    ]
  })

export interface Registry {
  readonly url: string
  readonly close: () => void
}

export const startRegistry = async (): Promise<Registry> => {
  const packages = Map.groupBy(installedIn(modules), ({ manifest }) => manifest.name)
  const versionOf = (name: string, version: string | undefined): Installed | undefined =>
    packages.get(name)?.find(({ manifest }) => manifest.version === version)
  const server = createServer(async ({ url = '', headers }, response) => {
    const [name = '', version] = decodeURIComponent(url.slice(1)).split('/-/')
    const found = versionOf(name, version)
    const all = packages.get(name)
    if (found) {
      const { folder } = found
      const args = ['-czf', '-', '--exclude', 'node_modules', '-C', dirname(folder)]
      const { stdout } = await execa('tar', [...args, basename(folder)], { encoding: 'buffer' })
      response.end(stdout)
    } else if (all && version === undefined) {
      const versions = all.map(({ manifest }) => [
        manifest.version,
        {
          ...manifest,
          dist: { tarball: `http://${headers.host}/${name}/-/${manifest.version}` },
        },
      ])
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({ name, 'dist-tags': {}, versions: Object.fromEntries(versions) }),
      )
    } else {
      response.statusCode = 404
      response.end('{}')
    }
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
