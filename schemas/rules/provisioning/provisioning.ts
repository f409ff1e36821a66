/** Inbound provisioning: a client that sends SCIM does so as its service account. */

import { Client, type ClientDoc } from '../../kinds/clients/client.ts'
import { Provisioning, type ProvisioningDoc } from '../../kinds/provisioning/provisioning.ts'
import { ruleFor } from '../rule.ts'

export const provisioning = ruleFor<ProvisioningDoc>(
  Provisioning,
  ({ scimClients }, _key, { find }) =>
    scimClients.flatMap((clientId, index) => {
      const client = find(Client.kind, clientId) as ClientDoc | undefined
      return !client || client.serviceAccountsEnabled
        ? []
        : [
            {
              field: `/scimClients/${index}`,
              code: 'no-service-account',
              message: `client "${clientId}" has no service account; set serviceAccountsEnabled of the client, or remove it here`,
            },
          ]
    }),
  [Client],
)
