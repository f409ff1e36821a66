/** The CLI's own client of the admin API on a server in this process; every request is counted, as a user's are. */

import { type Api, createApi } from '#cli/client/api.ts'
import type { HttpAnswer, HttpRequest } from '#cli/client/http/http.ts'
import type { Client, TestServer } from './server.ts'

const textOf = async (body: HttpRequest['body']): Promise<string | undefined> => {
  if (typeof body !== 'function') return body
  let text = ''
  for await (const part of body()) text += part
  return text
}

/** As the administrator, unless another user is named. */
export const injectedApi = ({ app, admin }: TestServer, { cookie, csrf }: Client = admin): Api => {
  let requests = 0
  const send = async ({ method, path, headers, body }: HttpRequest): Promise<HttpAnswer> => {
    requests += 1
    const payload = await textOf(body)
    const answer = await app.inject({
      method,
      url: path,
      headers: { ...headers, cookie, 'x-xsrf-token': csrf },
      ...(payload === undefined ? {} : { payload }),
    })
    const isJson = /json/.test(String(answer.headers['content-type'])) && answer.body !== ''
    return {
      status: answer.statusCode,
      headers: answer.headers as HttpAnswer['headers'],
      body: isJson ? answer.json() : answer.body,
    }
  }
  const close = async (): Promise<void> => undefined
  return createApi(
    {
      server: 'http://127.0.0.1',
      requests: () => requests,
      hasAnswered: () => true,
      serverVersion: () => undefined,
      send,
      close,
    },
    { send, end: close },
  )
}
