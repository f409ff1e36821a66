/**
 * A message alone never authenticates an administrator. Its provider, its template and the flow around it are configured by
 * holders of manage-realm and manage-authorization, who could read a link or a code and sign in as that administrator. So for a
 * user who holds any admin permission a message counts only beside a proof that no messaging provider reads: a password, an
 * authenticator app, a passkey, a recovery code, an enrolled device. See docs/decisions/messages-and-administrators.md. The word
 * of an identity provider, and a password that a directory has checked, count as little
 * (docs/decisions/identity-providers-and-administrators.md).
 */

import { deviceType } from '#server/credentials/devices/devices.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import { passkeyType } from '#server/credentials/factors/passkeys.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { isSubFlow, type PinnedNode } from '../flow/pinned-flow.ts'
import type { StepContext } from '../flow/step.ts'

interface Parts {
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly factors: Pick<Factors, 'has'>
}

type Context = Pick<StepContext, 'user' | 'state' | 'view'>

/** The credential that an authenticator asks for, of those that are no message. */
const credentialOf: Readonly<Record<string, string>> = {
  'username-password': 'password',
  password: 'password',
  totp: 'otp',
  webauthn: passkeyType,
  'webauthn-passwordless': passkeyType,
  'recovery-code': 'recovery-codes',
  push: deviceType,
}

/** Of the proofs that the flow asks for beside messages. */
const credentialsIn = (nodes: readonly PinnedNode[]): string[] =>
  nodes
    .filter(({ requirement }) => requirement !== 'DISABLED')
    .flatMap((node) =>
      isSubFlow(node) ? credentialsIn(node.nodes) : (credentialOf[node.authenticator] ?? []),
    )

export interface Administrators {
  /** Whether an administrator has proved nothing but messages so far. */
  needsMore(context: Context): Promise<boolean>
  /** Whether a message can become part of a sign-in of this user that ends well. Otherwise none is sent. */
  mayBeSent(context: Context): Promise<boolean>
}

export const createAdministrators = ({ ranks, factors }: Parts): Administrators => {
  const needsMore: Administrators['needsMore'] = async ({ user, state, view }) =>
    user !== undefined &&
    state.beyondMessages !== true &&
    // The session that is strengthened was opened by more than a message.
    state.strengthens === undefined &&
    (await ranks.permissionsOf(view, user.id)).size > 0

  return {
    needsMore,
    mayBeSent: async (context) => {
      const { user, state } = context
      return (
        user === undefined ||
        !(await needsMore(context)) ||
        factors.has(user.id, credentialsIn(state.flow.nodes))
      )
    },
  }
}
