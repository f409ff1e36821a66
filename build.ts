/** Bundles the package into `dist/`: everything but native modules, so that a cold start reads few files. */

import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { build } from 'esbuild'
import { writeBreachFilter } from './server/platform/passwords/build-filter.ts'

rmSync('dist', { recursive: true, force: true }) // chunk names carry hashes: old ones would be published
await build({
  entryPoints: {
    cli: 'cli/main.ts',
    'sqlite-writer': 'server/storage/sqlite/writer-thread.ts',
  },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  chunkNames: 'chunks/[name]-[hash]',
  sourcemap: true,
  sourcesContent: false,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'external',
  define: { 'process.env.NODE_ENV': '"production"' },
  external: ['argon2', '@node-rs/argon2', 'pg-native'],
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
