/**
 * Software statements (RFC 7591 §2.3): metadata that a third party vouches for by a signature. Only of issuers that the realm
 * trusts; what a statement says counts before what the request says.
 */

import { decodeJwt, errors } from 'jose'
import { createRemoteKeys } from '#server/keys/remote/remote-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { RegistrationError } from './errors.ts'
import { type Metadata, readMetadata } from './metadata.ts'
import type { Policy } from './policy.ts'

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']

const invalidStatement = (description: string): RegistrationError =>
  new RegistrationError('invalid_software_statement', description)

const issuerIn = (statement: string): string | undefined => {
  try {
    return decodeJwt(statement).iss
  } catch {
    throw invalidStatement('software_statement is not a JWT')
  }
}

/**
 * What a third party has vouched for is not replaced by the word of the client: an update of a client with a statement brings one
 * too, for the same software. It was checked like that of a registration.
 */
export const refuseUnvouched = (before: Metadata, after: Metadata): void => {
  const { software_statement: vouched } = before
  if (vouched === undefined) return
  const { software_statement: statement } = after
  if (statement === undefined)
    throw invalidStatement(
      'the client was registered with a software statement: send it, or a newer one, with every update',
    )
  if (issuerIn(statement) !== issuerIn(vouched) || after.software_id !== before.software_id)
    throw invalidStatement('the software statement is for other software than that of the client')
}

/** The metadata with what its statement says; without a statement, as it is. */
export type SoftwareStatements = (metadata: Metadata, policy: Policy) => Promise<Metadata>

export const createSoftwareStatements = ({
  outgoing,
  clock,
}: {
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly clock: Clock
}): SoftwareStatements => {
  const keysAt = createRemoteKeys({ outgoing, clock })
  return async ({ software_statement: statement, ...metadata }, { softwareStatementIssuers }) => {
    if (statement === undefined) return metadata
    const issuer = issuerIn(statement)
    const trusted = softwareStatementIssuers.find((one) => one.issuer === issuer)
    if (!trusted)
      throw new RegistrationError(
        'unapproved_software_statement',
        'the realm trusts no software statements of this issuer',
      )
    try {
      const { payload } = await keysAt(trusted.jwksUri)(statement, {
        algorithms,
        issuer: trusted.issuer,
        currentDate: new Date(clock.now()),
      })
      // Answered unmodified with the rest (RFC 7591 §3.2.1).
      return { ...metadata, ...readMetadata(payload), software_statement: statement }
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof OutgoingError)
        throw invalidStatement('the software statement is expired, or not signed by its issuer')
      throw error
    }
  }
}
