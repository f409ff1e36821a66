#!/usr/bin/env node
/** Checks the runtime and hands over; nothing newer than Node.js 20 may be imported statically here. */

import module from 'node:module'

const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    `iamctl needs Node.js 24 or newer, and this is ${process.versions.node}: https://nodejs.org\n`,
  )
  process.exit(1)
}
module.enableCompileCache?.()
// Chunks of the bundle import each other in a thousand places. Node.js would look for links and manifests on the disk at each
// of them, an eighth of the CPU time of a command.
const folder = new URL('.', import.meta.url).href
module.registerHooks?.({
  resolve: (specifier, context, next) =>
    /^\.\/.*\.js$/.test(specifier) && context.parentURL?.startsWith(folder)
      ? {
          url: new URL(specifier, context.parentURL).href,
          format: 'module',
          shortCircuit: true,
        }
      : next(specifier, context),
})
const [word, ...others] = process.argv.slice(2)
if ((word === '--version' || word === '-V') && others.length === 0) {
  // The parser alone takes as long to load as Node.js itself.
  const { showVersion } = await import('./views/human/elements/version.ts')
  showVersion()
} else {
  const isLong = word === 'server' || word === 'dev' || word === 'reconcile'
  // Not in every short command: Node.js would map the trace of each connection error, which is never shown.
  if (isLong || others.includes('--debug') || process.env['IAMCTL_DEBUG']) {
    const { nameSources } = await import('./source-maps.ts')
    nameSources()
  }
  const { run } = await import('./program.ts')
  await run(process.argv)
}
