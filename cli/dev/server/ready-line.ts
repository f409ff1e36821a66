/** The line by which a server says that it answers: people read it, and `iamctl dev` waits for it. */

export const readyLine = (version: string, url: string, database: string): string =>
  `iamctl ${version} is ready at ${url} (${database})`

/** With its first administrator. */
export const isReadyLine = (line: string): boolean => /^iamctl \S+ is ready at /.test(line)
