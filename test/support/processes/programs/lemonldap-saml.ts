/** LemonLDAP::NG as a SAML identity provider, on Lasso. */
import { openLemonLdapPortal } from './lemonldap-portal.ts'

export interface LemonLdapSaml {
  readonly metadataUrl: string
  /** Starts with the metadata of its only service provider. */
  readonly register: (metadata: string) => Promise<void>
  readonly log: () => string
  readonly close: () => Promise<void>
}

/** In PEM. */
export interface LemonLdapKey {
  readonly privateKey: string
  readonly certificate: string
}

const settingsOf = ({ privateKey, certificate }: LemonLdapKey, metadata: string) => ({
  issuerDBSAMLActivation: 1,
  issuerDBSAMLPath: '^/saml/',
  issuerDBSAMLRule: 1,
  samlEntityID: '#PORTAL#/saml/metadata',
  samlServicePrivateKeySig: privateKey,
  samlServicePublicKeySig: certificate,
  samlServiceUseCertificateInResponse: 1,
  samlServiceSignatureMethod: 'RSA_SHA256',
  samlSPMetaDataXML: { realm: { samlSPMetaDataXML: metadata } },
  samlSPMetaDataOptions: {
    realm: {
      samlSPMetaDataOptionsNameIDFormat: 'persistent',
      samlSPMetaDataOptionsSignSSOMessage: 1,
      samlSPMetaDataOptionsSignSLOMessage: 1,
      samlSPMetaDataOptionsCheckSSOMessageSignature: 1,
      samlSPMetaDataOptionsCheckSLOMessageSignature: 1,
      samlSPMetaDataOptionsEncryptionMode: 'none',
      samlSPMetaDataOptionsSignatureMethod: 'RSA_SHA256',
    },
  },
  samlSPMetaDataExportedAttributes: {
    realm: { mail: '1;email;;email', uid: '1;uid;;uid', cn: '1;cn;;cn' },
  },
})

export const openLemonLdapSaml = async (key: LemonLdapKey): Promise<LemonLdapSaml> => {
  const { url, start, log, close } = await openLemonLdapPortal()
  return {
    metadataUrl: `${url}saml/metadata`,
    register: (metadata) => start(settingsOf(key, metadata)),
    log,
    close,
  }
}
