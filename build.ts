import { rmSync } from 'node:fs'
import { build } from 'esbuild'

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
