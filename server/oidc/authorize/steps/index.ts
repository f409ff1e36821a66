/**
 * THE list of rules of an authorize request, in their order. Before it come the client (client/known-client.ts), the
 * request as a whole (request/whole-request.ts) and the address of the answer (client/registered-redirect-uri.ts): a
 * failure there is shown to the user, errors here are returned to the client.
 */

import type { Agents } from '#server/tokens/agents/agents.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { Step } from '../authorize-request.ts'
import type { ResponseMode } from '../response-modes/mode.ts'
import { claims } from './access/claims.ts'
import { organization } from './access/organization.ts'
import { resource } from './access/resource.ts'
import { scope } from './access/scope.ts'
import { codeAllowed } from './client/code-allowed.ts'
import { responseMode } from './client/response-mode.ts'
import { responseType } from './client/response-type.ts'
import { dpopKey } from './code/dpop-key.ts'
import { nonce } from './code/nonce.ts'
import { pkce } from './code/pkce.ts'
import { pushedOnly } from './request/pushed-only.ts'
import { state } from './request/state.ts'
import { acrValues } from './user/acr-values.ts'
import { idTokenHint } from './user/id-token-hint.ts'
import { idpHint } from './user/idp-hint.ts'
import { loginHint } from './user/login-hint.ts'
import { maxAge } from './user/max-age.ts'
import { prompt } from './user/prompt.ts'
import { recentSignIn } from './user/recent-sign-in.ts'
import { uiLocales } from './user/ui-locales.ts'

export const createSteps = ({
  responseModes,
  verifier,
  agents,
}: {
  readonly responseModes: readonly ResponseMode[]
  readonly verifier: Pick<Verifier, 'idToken'>
  readonly agents: Pick<Agents, 'granted' | 'within'>
}): readonly Step[] => [
  responseMode(responseModes),
  state,
  codeAllowed,
  pushedOnly,
  responseType,
  pkce,
  scope(agents),
  resource,
  nonce,
  claims(agents),
  acrValues,
  maxAge,
  recentSignIn,
  prompt,
  loginHint,
  idpHint,
  organization,
  uiLocales,
  idTokenHint(verifier),
  dpopKey,
]
