/** SAML clients: the id under which users know the application; a create response does not have it yet. */

import type { Behaviour } from './behaviour.ts'

export const samlClient: Behaviour = {
  prepare: async (drafts) => ({
    prepared: drafts.map(({ before }) => (before ? {} : { answer: { applicationId: null } })),
  }),
  present: async (documents) =>
    documents.map(({ realm, key }) => ({ applicationId: `${realm}|${key}` })),
}
