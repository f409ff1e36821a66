/**
 * Pages of ours that want a user who is signed in. Whoever is not is sent to sign in and back again: the way back is a
 * name from a short list, never an address.
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

/** Where a handle leads; nothing for those that are not of these pages. */
export const ownPage = (realm: string, handle: string): string | undefined => {
  const [page, code = '', ...others] = handle.split('-')
  if ((page === 'push' || page === 'qr') && approvalHandle(page, code) === handle)
    return `/realms/${realm}/${page}/${code}`
  if (others.length > 0 || (code !== '' && !userCode.test(code))) return undefined
  if (page === approvalsPage) return code === '' ? `/realms/${realm}/approvals` : undefined
  if (page !== devicePage) return undefined
  return `/realms/${realm}/device${code === '' ? '' : `?user_code=${code}`}`
}
