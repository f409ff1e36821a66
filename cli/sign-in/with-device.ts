/** A sign-in on another machine: a person opens the address there, compares the code and allows it (RFC 8628). */

import { setTimeout as sleep } from 'node:timers/promises'
import { commandLineId } from '#schemas/access/command-line.ts'
import { isWebAddress } from '../client/address.ts'
import { memberOf, noWebAddress } from '../client/discovery.ts'
import { UnreachableError } from '../client/http/errors.ts'
import type { HttpAnswer } from '../client/http/http.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { newKey } from './proof-key.ts'
import { requestTokens, TokenRefusal, type UserTokens } from './token-endpoint.ts'
import { refusedSignIn, type SignInRequest } from './with-browser.ts'

interface DeviceCode {
  readonly deviceCode: string
  readonly userCode: string
  readonly address: string
  readonly complete: string
  readonly seconds: number
  readonly interval: number
}

const numberIn = ({ body }: HttpAnswer, name: string, otherwise: number): number => {
  const value: unknown = Reflect.get(Object(body), name)
  return typeof value === 'number' && value > 0 ? value : otherwise
}

const begin = async ({ http, realm, server }: SignInRequest): Promise<DeviceCode> => {
  const answer = await http.send({
    method: 'POST',
    path: server.pathOf('device_authorization_endpoint'),
    uncounted: true,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: commandLineId }).toString(),
  })
  const error = memberOf(answer, 'error')
  if (error !== undefined && answer.status < 500)
    throw refusedSignIn(new TokenRefusal(error, memberOf(answer, 'error_description')), realm)
  const [deviceCode, userCode, address] = ['device_code', 'user_code', 'verification_uri'].map(
    (name) => memberOf(answer, name),
  )
  if (deviceCode === undefined || userCode === undefined || address === undefined)
    throw new UnreachableError(
      http.server,
      'stranger',
      `${http.server} gives no device code (${answer.status})`,
    )
  const complete = memberOf(answer, 'verification_uri_complete') ?? address
  for (const one of [address, complete])
    if (!isWebAddress(one)) throw noWebAddress(http.server, one)
  const [seconds, interval] = [numberIn(answer, 'expires_in', 600), numberIn(answer, 'interval', 5)]
  return { deviceCode, userCode, address, complete, seconds, interval }
}

const expired = (): CommandError =>
  new CommandError(exitCodes.denied, 'the code expired before a sign-in', {
    hint: 'run `iamctl login` again',
  })

export const signInWithDevice = async (request: SignInRequest): Promise<UserTokens> => {
  const { http, realm, server, tell } = request
  const { deviceCode, userCode, address, complete, seconds, interval } = await begin(request)
  tell(
    `To sign in, open ${address} in a browser on any device and enter the code ${userCode}\n` +
      `or open ${complete} and compare the code.`,
  )
  const key = await newKey()
  const fields = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: deviceCode,
  }
  const until = Date.now() + seconds * 1000
  let pause = interval
  while (Date.now() < until) {
    await sleep(pause * 1000)
    try {
      return await requestTokens({ http, realm, server, key, fields })
    } catch (error) {
      if (!(error instanceof TokenRefusal)) throw error
      if (error.error === 'expired_token') throw expired()
      if (error.error === 'access_denied')
        throw new CommandError(exitCodes.denied, 'the sign-in was not allowed in the browser')
      if (error.error === 'slow_down') pause += 5
      else if (error.error !== 'authorization_pending') throw refusedSignIn(error, realm)
    }
  }
  throw expired()
}
