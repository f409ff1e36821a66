/** Reads a database URL. What it throws and what it calls a database never holds a password. */

import { resolve } from 'node:path'
import { StorageUnavailableError } from './contract.ts'

export type Location =
  | { readonly kind: 'sqlite'; readonly file: string; readonly label: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly label: string }

const FORMS = 'write sqlite:PATH or postgres://USER@HOST:PORT/DATABASE'

export function parseLocation(url: string): Location {
  if (url.startsWith('sqlite:')) return sqliteLocation(url.slice('sqlite:'.length))
  if (/^postgres(ql)?:\/\//.test(url)) return postgresLocation(url)
  throw new StorageUnavailableError(`the database URL is not understood: ${FORMS}`)
}

function sqliteLocation(path: string): Location {
  if (path === '' || path.startsWith(':')) {
    throw new StorageUnavailableError(`the database URL names no file: ${FORMS}`)
  }
  // sqlite://data/x.db would be a host by the rules of URLs and a folder by those of paths.
  if (/^\/\/[^/]/.test(path)) {
    throw new StorageUnavailableError(
      'the database URL has "//" before a relative path: write sqlite:PATH',
    )
  }
  const file = resolve(path)
  return { kind: 'sqlite', file, label: file }
}

/** A user without a host, as PostgreSQL's own tools write the way to a socket, is no URL by the rules of URLs. */
function withHost(url: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[/?]|$)/, '$1localhost')
}

function postgresLocation(url: string): Location {
  const readable = withHost(url)
  // An unescaped slash in a password ends the host: the rest would be printed as the name of the database.
  if (!URL.canParse(readable) || new URL(readable).pathname.includes('@')) {
    throw new StorageUnavailableError(
      `the database URL is not valid (special characters in a password are written as %XX): ${FORMS}`,
    )
  }
  const { hostname, port, pathname, searchParams } = new URL(readable)
  const host = searchParams.get('host') || hostname || 'localhost'
  const name = pathname.length > 1 ? pathname : ''
  return { kind: 'postgres', url, label: `${host}:${port || '5432'}${name}` }
}
