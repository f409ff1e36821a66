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

/** Where a sign-in elsewhere is allowed, and where an agent is. */
const approvalPages = { push: '/push', qr: '/qr', agent: '/agent/delegation/confirm' } as const
type ApprovalPage = keyof typeof approvalPages

const isApprovalPage = (page: string | undefined): page is ApprovalPage =>
  page !== undefined && Object.hasOwn(approvalPages, page)

/** Below the issuer; its id comes after it. */
export const agentConfirmPath = approvalPages.agent

/** For the pages of one request; undefined where the id is none that was made. */
export const approvalHandle = (kind: ApprovalPage, id: string): string | undefined =>
  approvalId.test(id) ? `${kind}-${id}` : undefined

const fresh = '-fresh'

/** The same page after a new sign-in: an earlier proof of the user is not enough. */
export const freshHandle = (handle: string): string => `${handle}${fresh}`

export const wantsFreshness = (handle: string): boolean => handle.endsWith(fresh)

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

/** Where a handle leads; undefined for those that are not of these pages. */
export const ownPage = (realm: string, given: string): string | undefined => {
  const handle = wantsFreshness(given) ? given.slice(0, -fresh.length) : given
  const [page, code = '', ...others] = handle.split('-')
  if (page === accountPage) {
    const section = sectionOf(handle)
    return section && `/realms/${realm}/account/${section}`
  }
  if (isApprovalPage(page) && approvalHandle(page, code) === handle)
    return `/realms/${realm}${approvalPages[page]}/${code}`
  if (others.length > 0 || (code !== '' && !userCode.test(code))) return undefined
  if (page === approvalsPage) return code === '' ? `/realms/${realm}/approvals` : undefined
  if (page !== devicePage) return undefined
  return `/realms/${realm}/device${code === '' ? '' : `?user_code=${code}`}`
}
