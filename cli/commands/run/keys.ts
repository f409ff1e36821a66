/** The signing keys of a realm, or of a client that has its own. */

import { isProblem } from '../../client/http/errors.ts'
import type { KeyOwner } from '../../client/live.ts'
import type { KeyRecord } from '../../client/records.ts'
import { note } from '../../views/human/elements/note.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { moment } from '../../views/human/elements/values.ts'
import { printJson } from '../../views/json/json.ts'
import { type Invocation, textOf } from '../invocation.ts'
import { agreed } from './agreement.ts'
import { withRealm } from './connection.ts'

/** A key has its time: it is published before, and kept after. */
const purposes: Readonly<Record<KeyRecord['status'], string>> = {
  ACTIVE: 'signs',
  NEXT: 'will sign',
  PASSIVE: 'verifies',
}

const ownerOf = (invocation: Invocation, realm: string): KeyOwner => ({
  realm,
  client: textOf(invocation, 'client'),
})

/** As questions name it. */
const nameOf = ({ realm, client }: KeyOwner): string =>
  client === undefined ? `realm ${realm}` : `client ${client} of realm ${realm}`

export const listKeys = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const keys = await api.keys.list(ownerOf(invocation, realm))
    if (invocation.output === 'json') return printJson(keys)
    return printTable(
      ['key', 'use', 'algorithm', 'created', 'replaced'],
      keys.map((key) => [
        key.keyId,
        purposes[key.status],
        key.algorithm,
        moment(key.createdAt),
        moment(key.rotatedAt),
      ]),
    )
  })

const announcement = (server: string, { realm, client }: KeyOwner): string =>
  client === undefined
    ? `A new key will sign the tokens and SAML assertions of realm ${realm} from now on.
  Tokens   The key before stays published: what it signed stays valid until it expires.
  SAML     The signing certificate changes at once. Service providers that pinned the old one must get the new one
           from ${server}/realms/${realm}/saml/idp/metadata.`
    : `A new key, which is the client's own, will sign what is issued to ${client} from now on.
  Tokens   The key before stays published: what it signed stays valid until it expires.`

const sinceWhen = (key: KeyRecord): string =>
  key.status === 'ACTIVE'
    ? 'signs now'
    : `signs from ${moment(key.signsFrom)} on: it has to be published first, and the key before it signs until then`

export const rotateKeys = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const owner = ownerOf(invocation, realm)
    note(invocation, announcement(api.server, owner))
    await agreed(invocation, `Rotate the signing key of ${nameOf(owner)} at ${api.server}?`)
    const key = await api.keys.rotate(owner, invocation.flags['fresh'] === true)
    if (invocation.output === 'json') printJson(key)
    else note(invocation, `key ${key.keyId} ${sinceWhen(key)}`)
  })

export const deleteKey = (invocation: Invocation, id: string): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const force = invocation.flags['force'] === true
    const owner = ownerOf(invocation, realm)
    const question = force
      ? `Delete key ${id} of ${nameOf(owner)}? Tokens that it signed become invalid now.`
      : `Delete key ${id} of ${nameOf(owner)}?`
    await agreed(invocation, question)
    await api.keys.remove(owner, id, force)
    if (invocation.output === 'json') printJson({ realm, deleted: [id] })
    else note(invocation, `key ${id} is deleted`)
  })

/** When the last token that a key signed expires, as the refusal to delete it tells. */
const neededUntil = (error: unknown): number | null => {
  if (!isProblem(error, 409, 'key-in-use')) throw error
  const until = error.extra['validUntil']
  return typeof until === 'number' ? until : null
}

export const pruneKeys = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const owner = ownerOf(invocation, realm)
    const retained = (await api.keys.list(owner)).filter(({ status }) => status === 'PASSIVE')
    if (retained.length > 0)
      await agreed(
        invocation,
        `Delete those of ${retained.length} retained keys of ${nameOf(owner)} whose tokens have all expired?`,
      )
    const deleted: string[] = []
    const kept: { keyId: string; validUntil: number | null }[] = []
    for (const { keyId } of retained)
      try {
        await api.keys.remove(owner, keyId)
        deleted.push(keyId)
      } catch (error) {
        kept.push({ keyId, validUntil: neededUntil(error) })
      }
    if (invocation.output === 'json') return printJson({ realm, deleted, kept })
    for (const { keyId, validUntil } of kept)
      note(invocation, `key ${keyId} is kept: its tokens may be valid until ${moment(validUntil)}`)
    return note(invocation, `${deleted.length} keys are deleted, ${kept.length} kept`)
  })
