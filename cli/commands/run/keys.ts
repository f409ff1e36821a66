/** The signing keys of a realm. */

import { isProblem } from '../../client/errors.ts'
import type { KeyRecord } from '../../client/records.ts'
import { note } from '../../views/human/note.ts'
import { printTable } from '../../views/human/table.ts'
import { moment } from '../../views/human/values.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { agreed } from './agreement.ts'
import { withRealm } from './connection.ts'

const words: Readonly<Record<KeyRecord['status'], string>> = {
  ACTIVE: 'signs',
  PASSIVE: 'verifies',
}

export const listKeys = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const keys = await api.keys.list(realm)
    if (invocation.output === 'json') return printJson(keys)
    return printTable(
      ['key', 'use', 'algorithm', 'since', 'until'],
      keys.map(({ keyId, status, algorithm, createdAt, rotatedAt }) => [
        keyId,
        words[status],
        algorithm,
        moment(createdAt),
        moment(rotatedAt),
      ]),
    )
  })

export const rotateKeys = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    note(
      invocation,
      `A new key will sign the tokens and SAML assertions of realm ${realm} from now on.
  Tokens   The key before stays published: what it signed stays valid until it expires.
  SAML     The signing certificate changes at once. Service providers that pinned the old one must get the new one
           from ${api.server}/realms/${realm}/saml/idp/metadata.`,
    )
    await agreed(invocation, `Rotate the signing key of realm ${realm} at ${api.server}?`)
    const key = await api.keys.rotate(realm)
    if (invocation.output === 'json') printJson(key)
    else note(invocation, `key ${key.keyId} signs now`)
  })

export const deleteKey = (invocation: Invocation, id: string): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    const force = invocation.flags['force'] === true
    const question = force
      ? `Delete key ${id} of realm ${realm}? Tokens that it signed become invalid now.`
      : `Delete key ${id} of realm ${realm}?`
    await agreed(invocation, question)
    await api.keys.remove(realm, id, force)
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
    const retained = (await api.keys.list(realm)).filter(({ status }) => status === 'PASSIVE')
    if (retained.length > 0)
      await agreed(
        invocation,
        `Delete those of ${retained.length} retained keys of realm ${realm} whose tokens have all expired?`,
      )
    const deleted: string[] = []
    const kept: { keyId: string; validUntil: number | null }[] = []
    for (const { keyId } of retained)
      try {
        await api.keys.remove(realm, keyId)
        deleted.push(keyId)
      } catch (error) {
        kept.push({ keyId, validUntil: neededUntil(error) })
      }
    if (invocation.output === 'json') return printJson({ realm, deleted, kept })
    for (const { keyId, validUntil } of kept)
      note(invocation, `key ${keyId} is kept: its tokens may be valid until ${moment(validUntil)}`)
    return note(invocation, `${deleted.length} keys are deleted, ${kept.length} kept`)
  })
