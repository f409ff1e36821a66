/** How events of a stream get to its receiver (SSF 1.0 §6.1): the address of a push, and the header that it carries. */

import { invalid } from '#schemas/problems.ts'
import { formats } from '#schemas/text/formats.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import type { StoredSecret } from '#server/storage/documents/document.ts'
import {
  authorizationPointer,
  type SignalStreamRow,
  signalStreamKind,
} from '#server/storage/tables/signal-tables.ts'
import { type DeliveryBody, pollMethod } from './stream-body.ts'

export type Delivery = Pick<SignalStreamRow, 'endpoint_url' | 'authorization_header'>

/** The receiver fetches its events, as where a request names no delivery (§8.1.1.1). */
export const polled: Delivery = { endpoint_url: null, authorization_header: null }

const refused = (member: string, message: string, code = 'format') =>
  invalid([{ field: `/delivery/${member}`, code, message }])

type Place = Pick<SignalStreamRow, 'realm' | 'id'>

export interface DeliveryParts {
  readonly vault: Pick<Vault, 'store' | 'reveal'>
  readonly outgoing: Pick<Outgoing, 'checkUrl'>
}

export const createDeliveries = ({ vault, outgoing }: DeliveryParts) => {
  const placeOf = ({ realm, id }: Place) => ({ realm, kind: signalStreamKind, id })

  /** Refuses an address inside by what it says. Names are not resolved: the answer would tell which of them an internal name server knows. */
  const insistOutside = (url: string): void => {
    try {
      outgoing.checkUrl(url)
    } catch (error) {
      if (error instanceof OutgoingError) throw refused('endpoint_url', error.message)
      throw error
    }
  }

  const pushedTo = (
    stream: Place,
    { endpoint_url: url, authorization_header: header }: DeliveryBody,
    before: Delivery,
  ): Delivery => {
    if (url === undefined) throw refused('endpoint_url', 'is missing', 'required')
    if (formats['https-url']?.test(url) !== true)
      throw refused('endpoint_url', formats['https-url']?.message ?? 'must be an https URL')
    insistOutside(url)
    if (header !== undefined) {
      const mark = { store: 'sealed', read: 'absent' } as const
      const sealed = vault.store(placeOf(stream), authorizationPointer, mark, header)
      return { endpoint_url: url, authorization_header: JSON.stringify(sealed) }
    }
    // It was given for one address, and goes to no other.
    const isKept = url === before.endpoint_url
    return { endpoint_url: url, authorization_header: isKept ? before.authorization_header : null }
  }

  return {
    /** `before` is what a header that is not sent again stays from. */
    read: (stream: Place, body: DeliveryBody, pollUrl: string, before: Delivery): Delivery => {
      if (body.method !== pollMethod) return pushedTo(stream, body, before)
      if (body.endpoint_url !== undefined && body.endpoint_url !== pollUrl)
        throw refused('endpoint_url', 'is set by the transmitter where events are polled', 'const')
      if (body.authorization_header !== undefined)
        throw refused('authorization_header', 'is for events that are pushed', 'const')
      return polled
    },
    /** The header of a push, as the receiver gave it. */
    authorizationOf: (stream: SignalStreamRow): string | undefined => {
      if (stream.authorization_header === null) return undefined
      const stored = JSON.parse(stream.authorization_header) as StoredSecret
      return vault.reveal(placeOf(stream), authorizationPointer, stored) ?? undefined
    },
  }
}

export type Deliveries = ReturnType<typeof createDeliveries>
