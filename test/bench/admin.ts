/** Paths and requests of the admin API that several measurements need. */

import { connect } from './load.ts'
import type { Headers } from './sign-in.ts'

export const adminUrl = (realm: string, rest: string): string => `/admin/realms/${realm}/${rest}`

export const createRealm = async (url: string, headers: Headers, realm: string): Promise<void> => {
  const connection = connect(url)
  try {
    const body = JSON.stringify({ realm })
    await connection.send({ method: 'POST', path: '/admin/realms', headers, body }, 201)
  } finally {
    await connection.close()
  }
}
