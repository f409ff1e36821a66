/** SAML service providers that are told nothing, or protected less. */

import { isObject } from '#schemas/json-schema.ts'
import { SamlClient, type SamlClientDoc } from '#schemas/kinds/clients/saml-client.ts'
import { asWritten, items, unencrypted } from './unencrypted.ts'
import { type WeakChoice, weakChoice } from './weak-choice.ts'

export const samlClientChoices: readonly WeakChoice[] = [
  {
    kind: SamlClient,
    code: 'plain-http',
    meaning: 'an address of another machine without TLS',
    find: ({ doc }) => {
      const options = isObject(doc['options']) ? doc['options'] : {}
      return unencrypted([
        ['/assertionConsumerServiceUrl', doc['assertionConsumerServiceUrl']],
        ['/singleLogoutServiceUrl', doc['singleLogoutServiceUrl']],
        ['/singleLogoutServiceResponseUrl', doc['singleLogoutServiceResponseUrl']],
        ['/singleLogoutServiceSoapUrl', doc['singleLogoutServiceSoapUrl']],
        ...items('/options/additionalAcsUrls', asWritten(options['additionalAcsUrls'])),
        ...asWritten(doc['acs']).map(
          (one, i) => [`/acs/${i}/url`, isObject(one) ? one['url'] : undefined] as const,
        ),
        ['/metadataUrl', doc['metadataUrl']],
      ])
    },
  },
  weakChoice<SamlClientDoc>(
    SamlClient,
    'untold-logout',
    'logouts go over the back channel, and there is no address for them',
    ({ options, singleLogoutServiceUrl, singleLogoutServiceSoapUrl, metadataRefresh }) => [
      options.backChannelSloEnabled === true &&
        singleLogoutServiceUrl === undefined &&
        singleLogoutServiceSoapUrl === undefined &&
        // Its metadata may name one.
        metadataRefresh === undefined && {
          field: '/options/backChannelSloEnabled',
          message: 'the service provider is not told of any logout: it has no address for them',
          hint: 'set singleLogoutServiceSoapUrl, or leave backChannelSloEnabled out',
        },
    ],
  ),
  weakChoice<SamlClientDoc>(
    SamlClient,
    'unverifiable-messages',
    'there is no certificate to verify the messages of a service provider with',
    ({ acs = [], certificates = [], metadataRefresh, signingCertificate, ...doc }) => {
      // Its metadata may have one.
      if (signingCertificate || certificates.length > 0 || metadataRefresh !== undefined) return []
      const hint = 'set signingCertificate'
      const slo = doc.singleLogoutServiceUrl
        ? '/singleLogoutServiceUrl'
        : doc.singleLogoutServiceSoapUrl && '/singleLogoutServiceSoapUrl'
      return [
        ...acs.map(
          ({ binding }, i) =>
            binding === 'HTTP-Artifact' && {
              field: `/acs/${i}/binding`,
              message: 'no artifact is resolved: the service provider signs its ArtifactResolve',
              hint,
            },
        ),
        slo !== undefined && {
          field: slo,
          message:
            'logouts that begin at the service provider are refused, and its answers to those that begin here do not count',
          hint,
        },
      ]
    },
  ),
  weakChoice<SamlClientDoc>(
    SamlClient,
    'unauthenticated-encryption',
    'assertions are encrypted in CBC mode, which can be read by an attacker who may ask often',
    ({ options: { encryptionAlgorithm = '' } }) => [
      encryptionAlgorithm.endsWith('-cbc') && {
        field: '/options/encryptionAlgorithm',
        message: 'an attacker who sees how the service provider answers can decrypt assertions',
        hint: 'leave it out (aes256-gcm) unless the service provider supports CBC only',
      },
    ],
  ),
]
