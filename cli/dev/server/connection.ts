/** The way to the development server, as its administrator: what applies the files and asks which pages answer. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Api, createApi } from '../../client/api.ts'
import { createHttp } from '../../client/http/http.ts'
import { createSession } from '../../client/session.ts'
import type { Administrator, RealmLinks } from '../happenings.ts'

const adminName = 'admin'
const authRealm = 'master'
const timeoutMs = 60_000
const farewellMs = 1000

export interface DevConnection {
  readonly api: Api
  readonly admin: Administrator
  /** The pages of a realm; null where there is no such realm. */
  linksOf(realm: string): Promise<RealmLinks | null>
  close(): Promise<void>
}

const signInPage = (url: string, realm: string): string => `${url}/realms/${realm}/login`

export const connectDev = (url: string, password: string): DevConnection => {
  const http = createHttp({ server: url, timeoutMs, slowTimeoutMs: timeoutMs })
  const session = createSession(http, {
    by: 'password',
    realm: authRealm,
    username: adminName,
    password: async () => password,
  })

  const isThere = async (address: string): Promise<boolean> => {
    const path = address.slice(url.length)
    const { status } = await http.send({ method: 'GET', path, headers: { accept: '*/*' } })
    return status === 200
  }

  return {
    api: createApi(http, session),
    admin: { username: adminName, password, signIn: signInPage(url, authRealm) },
    async linksOf(realm) {
      const signIn = signInPage(url, realm)
      if (!(await isThere(signIn))) return null
      const discovery = `${url}/realms/${realm}/.well-known/openid-configuration`
      return { realm, signIn, discovery: (await isThere(discovery)) ? discovery : null }
    },
    async close() {
      // A server that hangs must not keep us from stopping it.
      await Promise.race([session.end(), sleep(farewellMs, undefined, { ref: false })])
      await http.close()
    },
  }
}
