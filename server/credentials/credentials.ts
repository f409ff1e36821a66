/** Where a user's credential belongs: what is sealed in it does not open for another realm or record. */

export const credentialContext = (realm: string, id: string): string => `${realm}/credential/${id}`
