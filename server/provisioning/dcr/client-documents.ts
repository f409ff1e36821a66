/**
 * The documents of registered clients: runtime documents, written through the one write path, by a caller without any
 * permission. An update sets the fields of a registration and leaves every other one as an administrator set it.
 */

import type { Doc } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Effect } from '#server/realm/write/effects.ts'
import { registrationChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { usedUpGuard } from '../provisioning-tokens.ts'
import { denied, invalidMetadata, invalidRedirectUri, invalidToken } from './errors.ts'
import { inWireNames, wireNameOfField } from './metadata.ts'
import { type Policy, ruledFields } from './policy.ts'
import { guards } from './registered-clients.ts'

/** A caller of a public endpoint: it may write what the channel lets it, and grant nothing. */
export const registrant = (actor: string, sourceIp: string): Caller => ({
  actor,
  sourceIp,
  permissions: new Set(),
})

export interface Registration {
  readonly realm: string
  readonly caller: Caller
  readonly policy: Policy
  readonly fields: Doc
}

export interface Written {
  readonly document: StoredDocument
  /** Of a client that has just got one. */
  readonly secret?: string
}

type By = Pick<Registration, 'realm' | 'caller'>
type Target = Pick<StoredDocument, 'id' | 'key'>

/** Set once, and from then on an administrator's. */
const initial = ({ consentRequired }: Policy): Doc => ({
  consentRequired,
  fullScopeAllowed: false,
})

const merged = (before: Doc, fields: Doc, { consentRequired }: Policy): Doc => {
  const ruled: ReadonlySet<string> = new Set(ruledFields)
  const others = Object.entries(before).filter(([field]) => !ruled.has(field))
  return {
    ...Object.fromEntries(others),
    ...fields,
    ...(consentRequired ? { consentRequired: true } : {}),
  }
}

/** What the write path refuses, in the words of RFC 7591 §3.2.2. */
const toRegistrationError = (error: unknown): unknown => {
  if (error instanceof GuardFailedError) {
    if (error.guard === usedUpGuard) return invalidToken('the initial access token is used up')
    if (error.guard === guards.token)
      return invalidToken('the registration access token was replaced')
    if (error.guard === guards.maximum)
      return denied('the realm has as many registered clients as it takes')
    return error
  }
  if (!(error instanceof Problem) || error.code !== 'validation') return error
  const [first] = error.errors
  if (!first) return invalidMetadata(error.message)
  const name = wireNameOfField(first.field)
  const refuse = name === 'redirect_uris' ? invalidRedirectUri : invalidMetadata
  return refuse(`${name}: ${inWireNames(first.message)}`)
}

/** What an administrator made goes or changes with no client that deletes itself. */
const isConfiguration = ({ before, after }: Effect): boolean =>
  (after ?? before)?.origin !== 'runtime'

const referredTo = (): Problem =>
  new Problem(
    'in-use',
    'the configuration of the realm refers to the client: an administrator deletes it',
  )

export const createClientDocuments = (writer: Writer) => {
  const put = async (
    { realm, caller }: By,
    operation: {
      readonly key: string
      readonly id?: string
      readonly doc: (before: Doc) => Doc
      readonly exists: boolean
    },
    alongside: (document: StoredDocument | undefined) => {
      readonly statements: readonly Statement[]
      readonly events?: readonly AuditEvent[]
    },
  ): Promise<Written | undefined> => {
    const { exists, ...target } = operation
    try {
      const { effects } = await writer.write({
        realm,
        caller,
        channel: registrationChannel,
        operations: [{ op: 'put', kind: Client, secrets: {}, expect: { exists }, ...target }],
        alongside: (made) => ({ events: [], ...alongside(made[0]?.after ?? undefined) }),
      })
      const [effect] = effects
      const secret = effect?.prepared.answer?.['secret']
      if (!effect?.after) return undefined
      return { document: effect.after, ...(typeof secret === 'string' ? { secret } : {}) }
    } catch (error) {
      throw toRegistrationError(error)
    }
  }

  const change = (
    { realm, caller, policy, fields }: Registration,
    { id, key }: Target,
    statements: readonly Statement[],
    otherwise: readonly AuditEvent[],
  ): Promise<Written | undefined> =>
    put(
      { realm, caller },
      { key, id, doc: (before) => merged(before, fields, policy), exists: true },
      (document) => ({ statements, events: document ? [] : otherwise }),
    )

  const remove = async ({ realm, caller }: By, { id, key }: Target): Promise<void> => {
    await writer.write({
      realm,
      caller,
      channel: registrationChannel,
      operations: [{ op: 'delete', kind: Client, key, id }],
      alongside: (effects) => {
        if (effects.some(isConfiguration)) throw referredTo()
        return { statements: [], events: [] }
      },
    })
  }

  return {
    create: async (
      { realm, caller, policy, fields }: Registration,
      clientId: string,
      alongside: (document: StoredDocument) => readonly Statement[],
    ): Promise<Written> => {
      const written = await put(
        { realm, caller },
        {
          key: clientId,
          doc: () => ({ clientId, ...initial(policy), ...fields }),
          exists: false,
        },
        (document) => ({ statements: document ? alongside(document) : [] }),
      )
      if (!written) throw new Error(`client "${clientId}" was not made`)
      return written
    },

    /** Nothing where the document stays as it is: then the event tells that the token is another one. */
    update: (registration: Registration, document: Target, alongside: readonly Statement[]) =>
      change(registration, document, alongside, [
        {
          type: 'CLIENT_UPDATE',
          realm: registration.realm,
          actor: registration.caller.actor,
          sourceIp: registration.caller.sourceIp,
          outcome: 'SUCCESS',
          resourceType: Client.resourceType,
          resourceId: document.id,
          detail: 'registration access token',
        },
      ]),

    /** As `update`, of a client without a token: to read the same again is no event. */
    refresh: (registration: Registration, document: Target, alongside: readonly Statement[]) =>
      change(registration, document, alongside, []),

    remove,

    /** False where something refers to it, or protects it: then it stays. */
    removeIfFree: async (by: By, document: Target): Promise<boolean> => {
      try {
        await remove(by, document)
        return true
      } catch (error) {
        if (error instanceof Problem) return false
        throw error
      }
    },
  }
}

export type ClientDocuments = ReturnType<typeof createClientDocuments>
