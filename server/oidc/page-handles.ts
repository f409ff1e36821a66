/**
 * Pages of the server that need a signed-in user. Other users are redirected to sign in and back: the return target is a name
 * from a fixed list, never an address.
 */

const userCode = /^[A-Z]{8}$/
const devicePage = 'device'
const approvalsPage = 'approvals'

/** The handle to sign in with for the device page, with its code filled in where there is one. */
export const deviceHandle = (code: string): string =>
  userCode.test(code) ? `${devicePage}-${code}` : devicePage

export const approvalsHandle = approvalsPage

const approvalId = /^[0-9a-f]{32}$/

/** For the pages where a sign-in elsewhere is allowed; nothing where the id is none that was made. */
export const approvalHandle = (kind: 'push' | 'qr', id: string): string | undefined =>
  approvalId.test(id) ? `${kind}-${id}` : undefined

/** THE list of sections of the account, by the last part of their address. */
const accountSections = [
  'profile',
  'password',
  'security',
  'sessions',
  'identities',
  'applications',
  'sharing',
  'agents',
  'data',
] as const
export type AccountPath = (typeof accountSections)[number]

const accountPage = 'account'
const strong = 'strong'

/** For a section of the account; a strong one wants a sign-in with a second factor. */
export const accountHandle = (section: AccountPath, isStrong = false): string =>
  [accountPage, section, ...(isStrong ? [strong] : [])].join('-')

const sectionOf = (handle: string): AccountPath | undefined =>
  accountSections.find((one) => [accountHandle(one), accountHandle(one, true)].includes(handle))

/** Whether what waits wants a second factor. */
export const wantsStrength = (handle: string): boolean =>
  sectionOf(handle) !== undefined && handle.endsWith(`-${strong}`)

/** Where a handle leads; nothing for those that are not of these pages. */
export const ownPage = (realm: string, handle: string): string | undefined => {
  const [page, code = '', ...others] = handle.split('-')
  if (page === accountPage) {
    const section = sectionOf(handle)
    return section && `/realms/${realm}/account/${section}`
  }
  if ((page === 'push' || page === 'qr') && approvalHandle(page, code) === handle)
    return `/realms/${realm}/${page}/${code}`
  if (others.length > 0 || (code !== '' && !userCode.test(code))) return undefined
  if (page === approvalsPage) return code === '' ? `/realms/${realm}/approvals` : undefined
  if (page !== devicePage) return undefined
  return `/realms/${realm}/device${code === '' ? '' : `?user_code=${code}`}`
}
