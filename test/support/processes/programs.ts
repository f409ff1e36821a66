/**
 * Programs that tests start and npm does not have. Only the project `peers` needs them (`npm run test:peers`); nothing
 * is installed unless somebody asks for it with `--install`.
 */
import { existsSync } from 'node:fs'

interface Program {
  /** Any of these files is the program. */
  readonly files: readonly string[]
  /** What Debian calls it. */
  readonly packages: readonly string[]
}

const programs = {
  chromium: {
    files: [
      '/usr/bin/chromium',
      '/usr/bin/chromium-browser',
      '/usr/bin/google-chrome',
      '/usr/bin/google-chrome-stable',
    ],
    packages: ['chromium'],
  },
  apache: { files: ['/usr/sbin/apache2'], packages: ['apache2'] },
  mod_auth_openidc: {
    files: ['/usr/lib/apache2/modules/mod_auth_openidc.so'],
    packages: ['libapache2-mod-auth-openidc'],
  },
  zsh: { files: ['/usr/bin/zsh'], packages: ['zsh'] },
  fish: { files: ['/usr/bin/fish'], packages: ['fish'] },
  curl: { files: ['/usr/bin/curl'], packages: ['curl'] },
  xmlsec1: { files: ['/usr/bin/xmlsec1'], packages: ['xmlsec1'] },
  xmllint: { files: ['/usr/bin/xmllint'], packages: ['libxml2-utils'] },
  groff: { files: ['/usr/bin/groff'], packages: ['groff-base'] },
} satisfies Record<string, Program>

const found = ({ files }: Program): string | undefined => files.find((file) => existsSync(file))

/** Packages of Debian that the tests with other programs still want. */
export const missingPackages = (): string[] =>
  Object.values(programs).flatMap((program) =>
    found(program) === undefined ? program.packages : [],
  )

/** Where a program is; a test that needs one that is not there fails with what to do. */
export const pathOf = (name: keyof typeof programs): string => {
  const path = found(programs[name])
  if (path === undefined)
    throw new Error(
      `${name} is not installed: apt-get install ${programs[name].packages.join(' ')}, or npm run test:peers -- --install`,
    )
  return path
}
