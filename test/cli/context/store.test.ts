/** Where contexts and sign-ins of this machine are kept: in the home of the user, also where the environment names none. */
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore, storeFile } from '#cli/context/store.ts'

const own = join(userInfo().homedir, '.config/iamctl/config.json')

describe('the memory of this machine', () => {
  it.each([
    [{ HOME: '/home/ann' }, '/home/ann/.config/iamctl/config.json'],
    [{ HOME: '/home/ann', XDG_CONFIG_HOME: '/etc/ann' }, '/etc/ann/iamctl/config.json'],
    [{ HOME: '/home/ann', XDG_CONFIG_HOME: 'relative' }, '/home/ann/.config/iamctl/config.json'],
    [{}, own],
    // It would be a folder of the checkout that the command runs in.
    [{ HOME: '' }, own],
    [{ HOME: 'relative' }, own],
  ])('of %j is %s', (env, file) => {
    expect(storeFile(env)).toBe(file)
  })

  it('is empty below a home that is no folder', () => {
    expect(openStore({ HOME: '/dev/null' }).read()).toEqual({
      current: null,
      contexts: {},
      sessions: {},
    })
  })

  it('is empty for a user without a home, who is told so where something is to be remembered', () => {
    // As for the number of a user in a container, which no list of users has.
    const store = openStore({}, () => {
      throw new Error('uv_os_get_passwd returned ENOENT')
    })
    expect(store.read().contexts).toEqual({})
    expect(() => store.change((memory) => memory)).toThrow(/^this user has no home folder/)
  })
})
