/** The running release, and its build. From source the build is unknown and reported so. */

import { capabilities } from '#schemas/wire/capabilities.ts'
import manifest from '../../package.json' with { type: 'json' }

/** Written into the bundle by build.ts. */
declare const IAMCTL_BUILD_TIME: string | null
declare const IAMCTL_BUILD_COMMIT: string | null

export const release = { name: manifest.name, version: manifest.version } as const

export const buildInfo = () => ({
  build: {
    ...release,
    time: typeof IAMCTL_BUILD_TIME === 'undefined' ? null : IAMCTL_BUILD_TIME,
  },
  git: {
    commit: { id: typeof IAMCTL_BUILD_COMMIT === 'undefined' ? null : IAMCTL_BUILD_COMMIT },
  },
  runtime: { node: process.version },
  api: { capabilities },
})
