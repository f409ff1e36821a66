/**
 * A client of a server that runs as a process of its own: a cookie jar, a sign-in through the real login page, and
 * the XSRF token of the jar on every write.
 */
import type { Answer } from '../server.ts'

export interface Browserless {
  /** The value of a cookie, as the server last set it. */
  cookie(name: string): string | undefined
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
}

const reads = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Remembers name and value; a cookie that has expired is gone. Paths and hosts are all the same here. */
const store = (jar: Map<string, string>, line: string): void => {
  const [pair = '', ...attributes] = line.split(';')
  const cut = pair.indexOf('=')
  const name = pair.slice(0, cut).trim()
  const expired = attributes.some((attribute) => {
    const [key = '', value = ''] = attribute.trim().toLowerCase().split('=')
    return (key === 'max-age' && Number(value) <= 0) || (key === 'expires' && isPast(value))
  })
  if (expired) jar.delete(name)
  else jar.set(name, pair.slice(cut + 1).trim())
}

const isPast = (date: string): boolean => Date.parse(date) <= Date.now()

const readBody = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  const json = response.headers.get('content-type')?.includes('json') === true
  return json && text !== '' ? JSON.parse(text) : text
}

/** An empty jar, without a session. */
export const anonymous = (baseUrl: string): Browserless => {
  const jar = new Map<string, string>()
  return {
    cookie: (name) => jar.get(name),
    async send(method, path, body, headers = {}) {
      const token = jar.get('XSRF-TOKEN')
      const form = body instanceof URLSearchParams
      const response = await fetch(new URL(path, baseUrl), {
        method,
        redirect: 'manual',
        headers: {
          cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
          ...(token !== undefined && !reads.has(method) ? { 'x-xsrf-token': token } : {}),
          ...(body === undefined || form ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
      })
      for (const line of response.headers.getSetCookie()) store(jar, line)
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await readBody(response),
      }
    },
  }
}

/** Fails unless the sign-in succeeds. */
export const signIn = async (
  baseUrl: string,
  realm: string,
  username: string,
  password: string,
): Promise<Browserless> => {
  const client = anonymous(baseUrl)
  const path = `/realms/${realm}/login`
  await client.send('GET', path)
  const form = new URLSearchParams({
    username,
    password,
    _csrf: client.cookie('XSRF-TOKEN') ?? '',
  })
  const answer = await client.send('POST', path, form)
  if (answer.status !== 303)
    throw new Error(`${username} cannot sign in to ${realm}: ${answer.status} ${answer.body}`)
  return client
}
