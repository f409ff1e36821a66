/** The password of a user as a credential that an administrator sets. */

import { invalid, Problem } from '#schemas/problems.ts'
import { passwordOf } from '#server/credentials/credentials.ts'
import { asChecked, bodyOf } from '../action.ts'
import { endOtherSessions, settingsIn, userEvent, wishForPassword } from '../users/users.ts'
import { type CredentialParts, type SettableType, shown } from './credential-type.ts'

export const passwordCredential = (parts: CredentialParts): SettableType => ({
  body: bodyOf(
    {
      type: { type: 'string', enum: ['password'] },
      value: { type: 'string', minLength: 1, maxLength: 1024 },
      temporary: { type: 'boolean', description: 'It must be changed at the next sign-in.' },
    },
    ['type', 'value'],
  ),
  shownOnce: {},
  events: ['ADMIN_UPDATE', 'RESET_PASSWORD'],
  set: async (context, user) => {
    const { value, temporary = false } = asChecked<{ value: string; temporary?: boolean }>(
      context.body,
    )
    const settings = await settingsIn(context)
    const prepared = await parts.passwords.prepare(settings, user, value, '/value')
    if (prepared.errors.length > 0) throw invalid(prepared.errors)
    await parts.recorder.commit(
      [
        ...prepared.statements,
        ...wishForPassword(parts, user, temporary),
        ...endOtherSessions(parts, context, user.id),
      ],
      [
        userEvent(context, 'ADMIN_UPDATE', user.id, 'password'),
        userEvent(context, 'RESET_PASSWORD', user.id),
      ],
    )
    const row = await passwordOf(parts.storage, user.id)
    if (!row) throw new Problem('not-found', 'the user is gone')
    return shown(row)
  },
})
