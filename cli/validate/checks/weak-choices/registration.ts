/** Registration of clients that is open to all. */

import { Provisioning, type ProvisioningDoc } from '#schemas/kinds/provisioning/provisioning.ts'
import { weakChoice } from './weak-choice.ts'

export const openRegistration = weakChoice<ProvisioningDoc>(
  Provisioning,
  'open-registration',
  'clients can be registered without authentication, for any address',
  ({ dcrEnabled, anonymousAllowed, trustedHosts }) => [
    dcrEnabled &&
      anonymousAllowed &&
      trustedHosts.length === 0 && {
        field: '/anonymousAllowed',
        message: 'clients can be registered without authentication, with any redirect URI',
        hint: 'name trustedHosts, or ask for initial access tokens',
      },
  ],
)
