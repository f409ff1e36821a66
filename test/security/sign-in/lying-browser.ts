/** A browser with forged proxy headers: every header that could name a host. */

import type { InjectOptions } from 'fastify'
import type { Sent } from '../../sign-in/fixture.ts'
import { SignInBrowser } from '../../sign-in/world.ts'
import type { TestServer } from '../../support/server.ts'

export const evil = 'evil.example'

export const lies = {
  host: evil,
  'x-forwarded-host': `${evil}:444`,
  'x-forwarded-server': evil,
  'x-forwarded-proto': 'https',
  'x-forwarded-port': '444',
  'x-forwarded-prefix': `//${evil}`,
  'x-original-host': evil,
  'x-original-url': `https://${evil}/`,
  'x-host': evil,
  origin: `https://${evil}`,
  referer: `https://${evil}/`,
  forwarded: `for=203.0.113.9;host=${evil};proto=https`,
}

export class LyingBrowser extends SignInBrowser {
  readonly #server: TestServer
  constructor(server: TestServer) {
    super(server.baseUrl)
    this.#server = server
  }

  /** Without a network: no client library sends such a Host. */
  protected override async exchange(
    path: string,
    { method, body, headers }: Sent,
  ): Promise<Response> {
    const answer = await this.#server.app.inject({
      method: (method ?? 'GET') as NonNullable<InjectOptions['method']>,
      url: path,
      headers: { ...headers, ...lies },
      ...(body === undefined ? {} : { payload: body }),
    })
    const heard = new Headers()
    for (const [name, value] of Object.entries(answer.headers))
      for (const one of [value ?? []].flat()) heard.append(name, String(one))
    const isEmpty = answer.statusCode === 304 || answer.statusCode === 204
    return new Response(isEmpty ? null : answer.body, { status: answer.statusCode, headers: heard })
  }
}
