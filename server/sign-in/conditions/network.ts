/** Holds for sign-ins from any of `networks`, in the notation of RFC 4632. */

import ipaddr from 'ipaddr.js'
import { listOf } from '#schemas/drivers/authenticator-settings.ts'
import type { Condition } from '../flow/step.ts'

const isWithin = (address: string, network: string): boolean => {
  if (!ipaddr.isValid(address) || !ipaddr.isValidCIDR(network)) return false
  const one = ipaddr.process(address)
  const [base, bits] = ipaddr.parseCIDR(network)
  return one.kind() === base.kind() && one.match(base, bits)
}

export const network = (): Condition => ({
  id: 'condition-network',
  holds: async ({ address, execution }) =>
    listOf(execution.config['networks']).some((one) => isWithin(address, one)),
})
