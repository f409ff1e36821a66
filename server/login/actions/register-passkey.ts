/** Registers a security key or passkey. */

import { printable } from '#server/accounts/names.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables.ts'
import type { FactorParts } from '../factor-parts.ts'
import { type RequiredAction, refused } from '../step.ts'
import { completed, ownEvent } from './completed.ts'

type Parts = Pick<FactorParts, 'pages' | 'storage' | 'users' | 'clock' | 'passkeys'>

const id = 'webauthn-register'

const audienceOf = ({ id: userId }: UserRow): string => `register:${userId}`

export const registerPasskey = (parts: Parts): RequiredAction => {
  const { pages, passkeys, storage } = parts
  return {
    id,
    show: async ({ user, settings }) => {
      if (!user) throw new Error('a key is registered for a user who is known')
      const options = await passkeys.creationOptions(settings, user, audienceOf(user))
      return {
        send: (reply, page) =>
          pages.registerPasskey(reply, {
            ...page,
            username: user.username,
            options,
            error: page.refusal && 'not-recognised',
          }),
      }
    },
    answer: async (context, form) => {
      const { user, settings, pass } = context
      const response = form('response')
      if (!user || response === '') return refused('not-recognised')
      const label = printable(form('label').trim(), 255) || null
      const made = await passkeys.register(settings, user, audienceOf(user), response, label)
      if (!made) return refused('not-recognised', 400)
      return pass({
        amr: ['hwk'],
        statements: [
          ...made.statements,
          ...completed(parts, user, id),
          ...insertRows(storage.db, 'credentials', [made.row]),
        ],
        events: [ownEvent(context, user, 'UPDATE_CREDENTIAL', 'webauthn')],
      })
    },
  }
}
