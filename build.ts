/** Bundles the package into `dist/`: everything but native modules, so that a cold start reads few files. */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { sectionSchemas } from './cli/validate/schema.ts'
import { compiledModule } from './schemas/editor/compiled-module.ts'
import { estateSchema } from './schemas/realm/estate.ts'
import { kinds } from './schemas/registry.ts'
import { realmView } from './schemas/views.ts'
import { configSchemas } from './server/config/index.ts'
import { writeBreachFilter } from './server/platform/passwords/build-filter.ts'

/** The commit that is built; null outside a checkout. */
const commit = (): string | null => {
  try {
    // A checkout may belong to another user than the one who builds it.
    return execFileSync('git', ['-c', 'safe.directory=*', 'rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return null
  }
}

/** What is checked at every start is compiled here: Ajv takes 50 to 100 ms of CPU for its first schema. */
const compiledValidators: Plugin = {
  name: 'compiled-validators',
  setup: ({ onLoad }) => {
    const write = (filter: RegExp, make: () => string): void =>
      onLoad({ filter }, () => ({
        contents: make(),
        loader: 'js',
        resolveDir: import.meta.dirname,
      }))
    write(/\/cli\/validate\/compiled\.ts$/, () =>
      compiledModule(sectionSchemas(realmView(kinds)), { fillDefaults: false }),
    )
    write(/\/cli\/load\/compiled\.ts$/, () =>
      compiledModule({ estate: estateSchema }, { fillDefaults: false }),
    )
    write(/\/server\/config\/compiled\.ts$/, () =>
      compiledModule(configSchemas(), { fillDefaults: true }),
    )
  },
}

/**
 * What is used of undici, without fetch, WebSockets, caches and mocks: loading it takes less than half of the time. A name that is not here does not build.
 */
const slimUndici: Plugin = {
  name: 'slim-undici',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/node_modules\/undici\/index\.js$/ }, ({ path }) => ({
      contents: `
        import api from './lib/api/index.js'
        import Dispatcher from './lib/dispatcher/dispatcher.js'
        Object.assign(Dispatcher.prototype, api)
        export { default as Agent } from './lib/dispatcher/agent.js'
        export { default as EnvHttpProxyAgent } from './lib/dispatcher/env-http-proxy-agent.js'
      `,
      loader: 'js',
      resolveDir: dirname(path),
    }))
  },
}

/** What packages load at once and iamctl never or rarely uses. */
const lateModules: Plugin = {
  name: 'late-modules',
  setup: ({ onLoad, onResolve }) => {
    // Commander starts other programs as subcommands; its `process` would make Node.js load what the global one loads when asked.
    onResolve({ filter: /^node:(?:child_process|process)$/ }, ({ path, importer }) =>
      importer.includes('/node_modules/commander/') ? { path, namespace: 'late' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'late' }, ({ path }) => ({
      contents: path === 'node:process' ? 'export default globalThis.process' : 'export default {}',
    }))
    onLoad({ filter: /\/undici\/lib\/dispatcher\/client\.js$/ }, ({ path }) => {
      const eager = "const connectH2 = require('./client-h2.js')"
      const [before, after, ...more] = readFileSync(path, 'utf8').split(eager)
      if (after === undefined || more.length > 0) throw new Error(`${path} loads HTTP/2 elsewhere`)
      return {
        contents: `${before}const connectH2 = (...all) => require('./client-h2.js')(...all)${after}`,
      }
    })
  },
}

/** Ajv is loaded by the first schema that the build has not compiled; most commands meet none. */
const lateAjv: Plugin = {
  name: 'late-ajv',
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^ajv\/dist\/2020\.js$/ }, ({ kind, resolveDir }) =>
      kind === 'import-statement' ? { path: resolveDir, namespace: 'late-ajv' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'late-ajv' }, ({ path }) => ({
      contents: `
        export function Ajv2020(options) { return new (require('ajv/dist/2020.js').Ajv2020)(options) }
        export const _ = (...code) => require('ajv/dist/2020.js')._(...code)
      `,
      loader: 'js',
      resolveDir: path,
    }))
  },
}

const stamp = '.inputs'

/** Chunks of earlier builds stay out of packages: npm reads this file, also where it runs no scripts (`iamctl init --ci`). */
const unpacked = '.npmignore'

/** Of everything that decides what is built. */
const inputsDigest = (more: Readonly<Record<string, string | null>>): string => {
  const hash = createHash('sha256').update(JSON.stringify(more))
  const below = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:tsx?|json)$/.test(name))
      .map((name) => join(folder, name))
  const single = ['package.json', 'package-lock.json', 'build.ts'].filter((name) =>
    existsSync(name),
  )
  for (const file of [...single, ...['cli', 'schemas', 'server'].flatMap(below)].sort())
    hash.update(`${file}\0`).update(readFileSync(file)).update('\0')
  return hash.digest('hex')
}

const isFresh = (folder: string, inputs: string): boolean =>
  existsSync(join(folder, stamp)) && readFileSync(join(folder, stamp), 'utf8') === inputs

/** For how long a process may still run that began with an earlier build. */
const keptMs = 7 * 86_400_000

/**
 * Moves a build to where it is run from, file by file and what others import first. A process that runs loads chunks of its own
 * build when it needs them: those stay, under their names with hashes, until they are old.
 */
const putInPlace = (from: string, to: string, inputs: string): void => {
  const filesIn = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  const isChunk = (file: string): boolean => file.startsWith('chunks')
  const made = filesIn(from).sort((a, b) => Number(isChunk(b)) - Number(isChunk(a)))
  mkdirSync(join(to, 'chunks'), { recursive: true })
  for (const file of made) renameSync(join(from, file), join(to, file))
  const current = new Set([...made, stamp, unpacked])
  const isOld = (file: string): boolean => Date.now() - statSync(join(to, file)).mtimeMs > keptMs
  const earlier = filesIn(to).filter((file) => !current.has(file))
  for (const file of earlier.filter(isOld)) rmSync(join(to, file))
  const kept = earlier.filter((file) => existsSync(join(to, file)))
  writeFileSync(join(to, unpacked), [stamp, ...kept].map((file) => `/${file}\n`).join(''))
  writeFileSync(join(to, stamp), inputs)
}

// Two builds of the same source can give the same bytes: reproducible-builds.org/specs/source-date-epoch.
const epoch = process.env['SOURCE_DATE_EPOCH']
const builtAt = epoch === undefined ? new Date() : new Date(Number(epoch) * 1000)

const inputs = inputsDigest({ commit: commit(), epoch: epoch ?? null })
// npm runs this for every `npx iamctl` in a checkout.
if (isFresh('dist', inputs)) process.exit()
const fresh = mkdtempSync('dist.')
process.on('exit', () => rmSync(fresh, { recursive: true, force: true }))
await build({
  entryPoints: {
    cli: 'cli/main.ts',
    'sqlite-writer': 'server/storage/sqlite/writer-thread.ts',
    'sqlite-reader': 'server/storage/sqlite/long-reader-thread.ts',
    signer: 'server/keys/signer-thread.ts',
    bcrypt: 'server/platform/passwords/bcrypt-thread.ts',
    argon2: 'server/platform/passwords/argon2-thread.ts',
  },
  outdir: fresh,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  jsx: 'automatic',
  chunkNames: 'chunks/[name]-[hash]',
  sourcemap: true,
  sourcesContent: false,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'external',
  define: {
    'process.env.NODE_ENV': '"production"',
    IAMCTL_BUILD_TIME: JSON.stringify(builtAt.toISOString()),
    IAMCTL_BUILD_COMMIT: JSON.stringify(commit()),
  },
  plugins: [compiledValidators, slimUndici, lateModules, lateAjv],
  external: ['argon2', '@node-rs/argon2', 'pg-native', 'react-devtools-core'],
  banner: {
    js: "import { createRequire as __cr } from 'node:module';const require = __cr(import.meta.url);",
  },
})

// The list of breached passwords changes with its npm package only: made once, copied afterwards.
const cached = 'node_modules/.cache/iamctl/breach.filter'
if (!existsSync(cached)) {
  mkdirSync('node_modules/.cache/iamctl', { recursive: true })
  writeBreachFilter(cached)
}
copyFileSync(cached, join(fresh, 'breach.filter'))
putInPlace(fresh, 'dist', inputs)
