/**
 * SAML 2.0 as a service provider of another identity provider (SAML Profiles §4.1). Requests are always signed; answers are read
 * by `response/`, and an assertion counts once on all nodes. Schemes on top of it (eHerkenning, eIDAS) say what they add.
 */

import type { BrokerProtocol } from '../../protocol.ts'
import { checkProvider } from './check.ts'
import { createParties, type SamlParts, spEntityIdOf, stateOf } from './parties.ts'
import type { Scheme } from './scheme.ts'
import { acsUrlOf, createSignIn } from './sign-in.ts'
import { createSingleLogout } from './single-logout.ts'
import { spMetadata } from './sp-metadata.ts'

export const createSamlProtocol = (parts: SamlParts, scheme: Scheme): BrokerProtocol => {
  const parties = createParties(parts, scheme)
  return {
    names: scheme.names,
    stateOf,
    ...createSignIn(parts, scheme, parties),
    ...createSingleLogout(parts, scheme, parties),

    describe: async ({ provider, endpoint, logoutUrl }) => {
      const settings = scheme.settings(provider)
      return spMetadata({
        entityId: spEntityIdOf(provider),
        acsUrl: acsUrlOf({ provider, endpoint }),
        logoutUrl,
        config: provider.config,
        settings,
        signing: await parties.signersFor(provider),
        now: parts.clock.now(),
      })
    },

    check: async (provider) => [
      ...(scheme.findings?.(provider) ?? []),
      ...(await checkProvider(parts, provider, scheme.settings(provider), scheme.client(provider))),
    ],
  }
}
