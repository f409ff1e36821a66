/** `iamctl server reset-admin` restores access of the last administrator with the host and the master key alone. */

import { describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { signIn } from '../../support/processes/browserless.ts'
import {
  adminPassword,
  newInstallation,
  newMasterKey,
  runCli,
  startServerProcess,
} from '../../support/processes/server-process.ts'

describe.each(backends)('reset-admin on $name', (backend) => {
  it('gives an administrator a new password, without second factor, and nobody else', async () => {
    const { args, env } = await newInstallation(backend)
    const server = await startServerProcess({ args, env })
    const admin = await server.admin()
    const users = '/admin/realms/master/users'
    const { body: me } = await admin.send('GET', `${users}/admin`)
    const otp = await admin.send('POST', `${users}/${me.userId}/credentials`, { type: 'otp' })
    expect(otp.status).toBeLessThan(300)
    await admin.send('POST', users, { username: 'plain' })
    await server.stop()

    const reset = (...more: string[]) => runCli(['server', 'reset-admin', ...more, ...args], env)
    for (const name of ['plain', 'nobody']) {
      const refused = await reset(name)
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`"${name}"`)])
    }
    const strange = await runCli(['server', 'reset-admin', ...args], {
      ...env,
      IAMCTL_MASTER_KEY: newMasterKey(),
    })
    expect(strange.code).toBe(1)
    const done = await reset('-o', 'json')
    expect(done.code, done.stderr).toBe(0)
    const { password, ...told } = JSON.parse(done.stdout)
    expect(told).toEqual({ realm: 'master', username: 'admin', factors: 1 })

    const again = await startServerProcess({ args, env })
    await expect(signIn(again.url, 'master', 'admin', adminPassword)).rejects.toThrow('401')
    // The right one leads on to the choice of another password, and to no session before that.
    const client = await signIn(again.url, 'master', 'admin', password)
    expect((await client.send('GET', `${users}/admin`)).status).toBe(401)
    await again.stop()
    expect(again.output()).not.toContain(password)
  })
})
