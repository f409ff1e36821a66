/**
 * Logouts that the browser takes part in. Each protocol finds its own applications; whichever of them ends the session
 * tells those of the others.
 */

import type { Statement } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'

/** A page of an application that signs the user out there when it is framed (OIDC Front-Channel Logout 1.0). */
export interface Frame {
  readonly application: string
  readonly url: string
}

/** The frames of OIDC clients that a session led to. */
export type FramesOf = (issuer: Issuer, sid: string) => Promise<Frame[]>

/** Where the browser goes when all have been told. */
export interface AfterLogout {
  readonly frames: readonly Frame[]
  readonly target?: string | undefined
  /** The application that the target belongs to. */
  readonly application?: string | undefined
}

/** For the transaction that ends the session, and where the browser goes then; undefined where no service provider has to be told. */
export type BeginSamlLogout = (
  issuer: Issuer,
  sid: string,
  after: AfterLogout,
) => Promise<{ readonly path: string; readonly statements: readonly Statement[] } | undefined>
