/** Database URLs, as operators write them. */
import { describe, expect, it } from 'vitest'
import { parseLocation } from '#server/storage/location.ts'

describe('a database URL', () => {
  it.each([
    ['postgres://ada:pw@db.example:5433/acme', 'db.example:5433/acme'],
    ['postgresql://ada@db.example/acme', 'db.example:5432/acme'],
    ['postgres://ada:p%40w@/acme?host=/run/postgresql', '/run/postgresql:5432/acme'],
    ['postgres:///acme?host=/run/postgresql&user=ada', '/run/postgresql:5432/acme'],
    ['postgres://ada@/acme', 'localhost:5432/acme'],
  ])('%s leads to %s, and is handed on as it is', (url, label) => {
    expect(parseLocation(url)).toEqual({ kind: 'postgres', url, label })
  })

  it.each([
    'postgres://ada:p@ss/word@db.example/acme',
    'postgres://ada:pw@db.example:port/acme',
    'mysql://ada@db.example/acme',
    'sqlite:',
    'sqlite://data/x.db',
  ])('%s is refused, without its password', (url) => {
    expect(() => parseLocation(url)).toThrow(/the database URL/)
    expect(() => parseLocation(url)).not.toThrow(/pw|ss\/word/)
  })
})
