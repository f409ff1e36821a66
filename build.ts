/** Bundles the package into `dist/`: everything but native modules, so that a cold start reads few files. */

import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { sectionSchemas } from './cli/validate/schema.ts'
import { compiledModule } from './schemas/compiled-module.ts'
import { estateSchema } from './schemas/estate.ts'
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

// Who builds the same source twice may want the same bytes: reproducible-builds.org/specs/source-date-epoch.
const epoch = process.env['SOURCE_DATE_EPOCH']
const builtAt = epoch === undefined ? new Date() : new Date(Number(epoch) * 1000)

rmSync('dist', { recursive: true, force: true }) // chunk names carry hashes: old ones would be published
await build({
  entryPoints: {
    cli: 'cli/main.ts',
    'sqlite-writer': 'server/storage/sqlite/writer-thread.ts',
    'sqlite-reader': 'server/storage/sqlite/long-reader-thread.ts',
    signer: 'server/keys/signer-thread.ts',
    bcrypt: 'server/platform/passwords/bcrypt-thread.ts',
    argon2: 'server/platform/passwords/argon2-thread.ts',
  },
  outdir: 'dist',
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
  plugins: [compiledValidators, slimUndici],
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
copyFileSync(cached, 'dist/breach.filter')
