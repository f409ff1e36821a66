/** A new browser on a connection: it keeps its cookies and follows no redirect by itself. */

import type { Answer, Connection } from './load.ts'
import { cookieHeader, cookiesOf } from './sign-in.ts'

export interface Browser {
  /** Throws unless the answer has the status. */
  get(path: string, status: number): Promise<Answer>
  /** A form with the browser's token against forgery. */
  post(path: string, fields: Readonly<Record<string, string>>, status: number): Promise<Answer>
  has(cookie: string): boolean
}

export const openBrowser = (connection: Connection): Browser => {
  const cookies = new Map<string, string>()
  const keep = (answer: Answer): Answer => {
    for (const [name, value] of cookiesOf(answer)) cookies.set(name, value)
    return answer
  }
  const cookie = () => ({ cookie: cookieHeader(cookies) })
  return {
    get: async (path, status) =>
      keep(await connection.send({ method: 'GET', path, headers: cookie() }, status)),
    post: async (path, fields, status) => {
      const headers = { ...cookie(), 'content-type': 'application/x-www-form-urlencoded' }
      const form = { ...fields, _csrf: cookies.get('XSRF-TOKEN') ?? '' }
      const body = new URLSearchParams(form).toString()
      return keep(await connection.send({ method: 'POST', path, headers, body }, status))
    },
    has: (name) => (cookies.get(name) ?? '') !== '',
  }
}

/** Where a redirect leads. */
export const targetOf = ({ headers }: Answer): URL =>
  new URL(String(headers['location']), 'http://server')

/** The same, where it leads to the server itself. */
export const pathOf = (answer: Answer): string => {
  const { pathname, search } = targetOf(answer)
  return pathname + search
}
