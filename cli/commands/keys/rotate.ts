/** `iamctl keys rotate`. */

import type { KeyRecord } from '#schemas/wire/records.ts'
import type { KeyOwner } from '../../client/live.ts'
import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { moment } from '../../views/human/elements/values.ts'
import { printJson } from '../../views/json/json.ts'
import { keyFlags, ownerName } from './owner.ts'

interface Rotation {
  /** How long the new key is published before it signs. */
  readonly ahead: string | undefined
  /** A key of an earlier rotation that does not sign yet. */
  readonly pending: KeyRecord | undefined
}

/** When the new key signs, and until when others must know it; there is no such time where it signs at once. */
const timesOf = ({ ahead, pending }: Rotation): { when: string; deadline: string | undefined } => {
  if (ahead !== undefined) return { when: `in ${ahead}`, deadline: `within ${ahead}` }
  if (!pending) return { when: 'from now on', deadline: undefined }
  const date = moment(pending.signsFrom)
  return { when: `from ${date} on`, deadline: `by ${date}` }
}

const announcement = (
  server: string,
  { realm, client }: KeyOwner,
  { ahead, pending }: Rotation,
): string => {
  const { when, deadline } = timesOf({ ahead, pending })
  const waiting = pending
    ? `
  Pending  Key ${pending.keyId} is published, to sign from ${moment(pending.signsFrom)} on. The new key takes its
           place and signs no earlier; --fresh signs at once.`
    : ''
  if (client !== undefined)
    return `A new key, which is the client's own, will sign what is issued to ${client} ${when}.
  Tokens   The key before stays published: what it signed stays valid until it expires.${waiting}`
  const saml =
    deadline === undefined
      ? `The signing certificate changes at once. Service providers that pinned the old one must get the new one
           from`
      : `The metadata carries both certificates from now on. Service providers that do not read it must get the
           new certificate ${deadline}, or a pinnedKey, from`
  return `A new key will sign the tokens and SAML assertions of realm ${realm} ${when}.
  Tokens   The key before stays published: what it signed stays valid until it expires.
  SAML     ${saml} ${server}/realms/${realm}/saml/idp/metadata.${waiting}`
}

const sinceWhen = (key: KeyRecord): string =>
  key.status === 'ACTIVE'
    ? 'signs now'
    : `signs from ${moment(key.signsFrom)} on: it has to be published first, and the key before it signs until then`

export const rotateKeys = command({
  name: 'rotate',
  description: 'sign with a new key; signatures of the old key stay valid',
  help: `
What happens:
  - A new key signs tokens and SAML assertions from this moment on. It was published before, so that applications that
    cache the realm's JWKS know it already. A key that is published for less than two minutes, because of a rotation
    just before or because it is a client's first, signs when the two minutes are over; the key before it signs until
    then.
  - After a break-in use --fresh: a key is made now and signs at once. Applications that have read the realm's JWKS
    within the last minute may refuse its tokens until they read it again. The prepared key is deleted.
  - With --publish-ahead 7d the new key is published now and signs in seven days; the key before it signs until then.
    SAML metadata carries both certificates meanwhile, so that service providers have time to read it. A rotation
    before that time replaces the key that waits and signs no earlier, except with --fresh.
  - The key before it stays in the realm's JWKS: tokens that it signed stay valid until they expire.
  - The SAML signing certificate changes at the same moment. Service providers that read the realm's metadata follow;
    give the new certificate to service providers that pinned the old one. Until one has it, \`pinnedKey\` of its entry in
    samlClients keeps the old key for it alone.
  - With --client the key is that of one client, for what is issued to it. The first rotation gives it its own.

Examples:
  iamctl keys rotate --realm acme --auto-approve
  iamctl keys rotate --realm acme --publish-ahead 7d`,
  flags: flags(
    {
      fresh: toggle('generate a new key now instead of using the prepared one'),
      publishAhead: text('<time>', 'publish the new key this long before it signs, such as 7d'),
    },
    approvalFlag,
    keyFlags,
  ),
  run: async (call) => {
    const { api, realm } = await openRealm(call)
    const { client, fresh, publishAhead } = call.flags
    const owner = { realm, client }
    const pending = fresh
      ? undefined
      : (await api.keys.list(owner)).findLast(({ signsFrom }) => signsFrom !== null)
    note(call, announcement(api.server, owner, { ahead: publishAhead, pending }))
    await agreed(call, `Rotate the signing key of ${ownerName(owner)} at ${api.server}?`)
    return api.keys.rotate(owner, { fresh, publishAhead })
  },
  views: {
    human: () => (key, call) => note(call, `key ${key.keyId} ${sinceWhen(key)}`),
    json: () => printJson,
  },
})
