/**
 * THE list of rules of an authorize request, in their order. Before it come the client (known-client.ts), the request
 * as a whole (whole-request.ts) and where the answer goes (registered-redirect-uri.ts): what fails there is shown to
 * the user, errors here are returned to the client.
 */

import type { Verifier } from '#server/tokens/verify.ts'
import type { Step } from '../authorize-request.ts'
import type { ResponseMode } from '../response-modes/mode.ts'
import { acrValues } from './acr-values.ts'
import { claims } from './claims.ts'
import { codeAllowed } from './code-allowed.ts'
import { dpopKey } from './dpop-key.ts'
import { idTokenHint } from './id-token-hint.ts'
import { loginHint } from './login-hint.ts'
import { maxAge } from './max-age.ts'
import { nonce } from './nonce.ts'
import { organization } from './organization.ts'
import { pkce } from './pkce.ts'
import { prompt } from './prompt.ts'
import { pushedOnly } from './pushed-only.ts'
import { resource } from './resource.ts'
import { responseMode } from './response-mode.ts'
import { responseType } from './response-type.ts'
import { scope } from './scope.ts'
import { uiLocales } from './ui-locales.ts'

export const createSteps = ({
  responseModes,
  verifier,
}: {
  readonly responseModes: readonly ResponseMode[]
  readonly verifier: Pick<Verifier, 'idToken'>
}): readonly Step[] => [
  responseMode(responseModes),
  codeAllowed,
  pushedOnly,
  responseType,
  pkce,
  scope,
  resource,
  nonce,
  claims,
  acrValues,
  maxAge,
  prompt,
  loginHint,
  organization,
  uiLocales,
  idTokenHint(verifier),
  dpopKey,
]
