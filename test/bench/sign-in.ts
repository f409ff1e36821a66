/** Signing in as a browser does: the page, its cookie and token, the form, the session's cookie and token. */

import { adminPassword } from './backends.ts'
import { type Answer, type Connection, connect, type Request } from './load.ts'

export interface Credentials {
  readonly realm: string
  readonly username: string
  readonly password: string
}

export type Headers = Readonly<Record<string, string>>

export const cookiesOf = ({ headers }: Answer): Map<string, string> => {
  const lines = [headers['set-cookie'] ?? []].flat()
  const pairs = lines.map((line) => line.split(';')[0]?.split('=') ?? [])
  return new Map(pairs.map(([name = '', ...value]) => [name, value.join('=')]))
}

export const cookieHeader = (cookies: ReadonlyMap<string, string>): string =>
  [...cookies]
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')

/** Asks for the page; gives the request that sends its form. */
export const openForm = async (
  connection: Connection,
  { realm, username, password }: Credentials,
): Promise<Request> => {
  const path = `/realms/${realm}/login`
  const cookies = cookiesOf(await connection.send({ method: 'GET', path }, 200))
  const form = { username, password, _csrf: cookies.get('XSRF-TOKEN') ?? '' }
  return {
    method: 'POST',
    path,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      cookie: cookieHeader(cookies),
    },
    body: new URLSearchParams(form).toString(),
  }
}

/** The request of a browser that has signed in before and keeps what it was given but the session. */
export const openFormAgain = async (
  connection: Connection,
  person: Credentials,
): Promise<Request> => {
  const first = await connection.send(await openForm(connection, person), 303)
  const device = new Map([...cookiesOf(first)].filter(([name]) => name.endsWith('iam-device')))
  const form = await openForm(connection, person)
  const cookie = `${form.headers?.['cookie']}; ${cookieHeader(device)}`
  return { ...form, headers: { ...form.headers, cookie } }
}

/** The headers that admin requests of the master realm's administrator carry. */
export const signInAsAdmin = async (url: string): Promise<Headers> => {
  const connection = connect(url)
  try {
    const form = await openForm(connection, {
      realm: 'master',
      username: 'admin',
      password: adminPassword,
    })
    const cookies = cookiesOf(await connection.send(form, 303))
    return {
      cookie: cookieHeader(cookies),
      'x-xsrf-token': cookies.get('XSRF-TOKEN') ?? '',
      'content-type': 'application/json',
    }
  } finally {
    await connection.close()
  }
}
