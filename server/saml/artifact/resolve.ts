/**
 * The artifact resolution service (SAML Core §3.5, Profiles §5): gives a response to the service provider that it was made for,
 * which proves itself by its signature. An artifact that is unknown, used, late or of another service provider is answered with
 * Success and no message, as Core §3.5.3 says, so that nothing can be learnt by asking.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import {
  childOf,
  element,
  instant,
  newMessageId,
  signElement,
  type Template,
  trimmed,
  XmlRefused,
} from '#server/xml/index.ts'
import { envelopeOf, sendSoap } from '#server/xml/messages/soap.ts'
import { artifactPath, freshIssuer, type RealmRoute, urlOf } from '../addresses.ts'
import { issuerElement } from '../assertion/assertion.ts'
import { type SignerFor, statusElement } from '../assertion/response.ts'
import { checkHeader } from '../bindings/message-header.ts'
import { gated, receiveSoap } from '../bindings/receive.ts'
import { refuseSoap } from '../bindings/refuse-soap.ts'
import { describeSoap } from '../description.ts'
import { SamlRefused } from '../errors.ts'
import { createFailures } from '../failures.ts'
import type { ServiceProvider } from '../service-provider.ts'
import type { Artifacts } from './artifacts.ts'

export interface ResolveParts {
  readonly clock: Clock
  readonly issuers: Issuers
  readonly recorder: Pick<Recorder, 'append'>
  readonly refusals: Pick<Refusals, 'record'>
  readonly signerFor: SignerFor
  readonly artifacts: Artifacts
}

export const resolveRoutes = (parts: ResolveParts) => {
  const { clock, issuers, recorder, refusals, signerFor, artifacts } = parts
  const failures = createFailures({ recorder, refusals }, 'SAML_SSO')

  const answer = async (
    issuer: Issuer,
    provider: ServiceProvider,
    id: string,
    message: Template | undefined,
  ): Promise<Template> =>
    signElement(
      element(
        'samlp:ArtifactResponse',
        {
          ID: newMessageId(),
          InResponseTo: id,
          Version: '2.0',
          IssueInstant: instant(clock.now()),
        },
        [issuerElement(issuer), statusElement(undefined), message],
      ),
      await signerFor(issuer, provider),
    )

  const resolve = async (request: FastifyRequest<RealmRoute>, reply: FastifyReply) => {
    const issuer = await freshIssuer(issuers, request)
    try {
      const received = await receiveSoap(envelopeOf(request) ?? '', {
        issuer,
        name: 'samlp:ArtifactResolve',
      })
      const { provider, message } = received
      const rules = { issuer, path: artifactPath, now: clock.now(), needsDestination: false }
      const id = checkHeader(received, rules)
      const artifact = gated(() => childOf(message, 'samlp:Artifact'), provider)
      const response = await artifacts.take(issuer, provider, artifact ? trimmed(artifact) : '')
      if (!response)
        await failures.record(
          { request, issuer },
          provider,
          'the artifact is unknown, used, expired or of another service provider',
        )
      return sendSoap(reply, await answer(issuer, provider, id, response))
    } catch (error) {
      if (!(error instanceof SamlRefused || error instanceof XmlRefused)) throw error
      await failures.recordRefusal({ request, issuer }, error)
      return refuseSoap(reply, error)
    }
  }

  return (app: FastifyInstance): void => {
    app.post<RealmRoute>(
      urlOf(artifactPath),
      describeSoap('resolve-saml-artifact', 'Gives a service provider the response of an artifact'),
      resolve,
    )
  }
}
