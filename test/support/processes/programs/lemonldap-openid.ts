/** LemonLDAP::NG as an OpenID provider. */
import { generateKeyPairSync } from 'node:crypto'
import { openLemonLdapPortal } from './lemonldap-portal.ts'

export interface LemonLdap {
  /** As its metadata spells it, with a slash at the end. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly log: () => string
  readonly close: () => Promise<void>
}

/** Nothing in it is encoded: LemonLDAP::NG does not decode what RFC 6749 §2.3.1 encodes. */
const clientSecret = 'a-secret-of-the-realm-at-LemonLDAP'

const keys = () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    // The form that its library reads.
    oidcServicePrivateKeySig: privateKey.export({ format: 'pem', type: 'pkcs1' }),
    oidcServicePublicKeySig: publicKey.export({ format: 'pem', type: 'spki' }),
    oidcServiceKeyIdSig: 'one',
  }
}

const settingsOf = (portal: string, redirectUri: string) => ({
  issuerDBOpenIDConnectActivation: 1,
  issuerDBOpenIDConnectPath: '^/oauth2/',
  issuerDBOpenIDConnectRule: 1,
  oidcServiceMetaDataIssuer: portal,
  oidcServiceAllowAuthorizationCodeFlow: 1,
  ...keys(),
  oidcRPMetaDataOptions: {
    realm: {
      oidcRPMetaDataOptionsClientID: 'realm',
      oidcRPMetaDataOptionsClientSecret: clientSecret,
      oidcRPMetaDataOptionsRedirectUris: redirectUri,
      oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
      oidcRPMetaDataOptionsBypassConsent: 1,
      oidcRPMetaDataOptionsRequirePKCE: 1,
      oidcRPMetaDataOptionsUserIDAttr: 'uid',
    },
  },
  oidcRPMetaDataExportedVars: {
    realm: { email: 'mail', preferred_username: 'uid', name: 'cn' },
  },
})

export const startLemonLdap = async (redirectUri: string): Promise<LemonLdap> => {
  const { url: issuer, start, log, close } = await openLemonLdapPortal()
  await start(settingsOf(issuer, redirectUri))
  return { issuer, clientId: 'realm', clientSecret, log, close }
}
