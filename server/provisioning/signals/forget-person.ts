/**
 * Erasure of a person (GDPR article 17) from the subjects of receivers. A subject that follows from the id of the user tells nothing
 * once the user is gone, and stays: by it the receiver hears that the sessions have ended.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { clientOf } from '#server/tokens/client.ts'
import { SubjectMissingError, type Subjects } from '#server/tokens/subject.ts'
import type { Streams } from './streams.ts'
import { personalNamesOf } from './subjects.ts'

export type ForgetPerson = (view: RealmView, user: UserRow) => Promise<Statement>

export const createForgetPerson = ({
  streams,
  subjects,
}: {
  readonly streams: Pick<Streams, 'receiversIn' | 'forgetSubjects'>
  readonly subjects: Pick<Subjects, 'subjectOf' | 'subjectOfDeleted'>
}): ForgetPerson => {
  /** A subject that is a name or an attribute of the user. */
  const personalSubject = async (
    view: RealmView,
    clientId: string,
    user: UserRow,
  ): Promise<readonly string[]> => {
    const document = await view.byId(Client.kind, clientId)
    if (!document) return []
    const client = clientOf(document)
    if ((await subjects.subjectOfDeleted(view, client, user.id)) !== undefined) return []
    try {
      return [await subjects.subjectOf(view, client, user)]
    } catch (error) {
      if (error instanceof SubjectMissingError) return []
      throw error
    }
  }

  return async (view, user) => {
    const receivers = await streams.receiversIn(user.realm)
    const named = await Promise.all(receivers.map((id) => personalSubject(view, id, user)))
    return streams.forgetSubjects(user.realm, [...personalNamesOf(user), ...named.flat()])
  }
}
