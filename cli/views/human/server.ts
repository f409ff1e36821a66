/** What a person reads when the server starts. On stderr: stdout belongs to the log. */

export interface Ready {
  readonly version: string
  readonly url: string
  readonly database: string
  /** Null unless this start made the first administrator. */
  readonly admin: { readonly username: string; readonly password: string | null } | null
}

const print = (lines: readonly string[]): void => {
  process.stderr.write(`${lines.join('\n')}\n`)
}

export const started = ({ version, url, database, admin }: Ready): void => {
  const password = admin?.password ?? '(as you gave it)'
  print([
    `iamctl ${version} is ready at ${url} (${database})`,
    ...(admin
      ? [
          '',
          '  The first administrator was made. This is shown once:',
          `    sign in   ${url}/realms/master/login`,
          `    username  ${admin.username}`,
          `    password  ${password}`,
          '',
        ]
      : []),
  ])
}

export const rotated = ({ resealed, kid }: { resealed: number; kid: string }): void =>
  print([`${resealed} values are sealed anew; everything is under master key ${kid}`])
