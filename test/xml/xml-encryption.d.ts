/** What the tests use of xml-encryption, which comes without types. */
declare module 'xml-encryption' {
  export function encrypt(
    content: string,
    options: {
      readonly rsa_pub: string
      readonly pem: string
      readonly encryptionAlgorithm: string
      readonly keyEncryptionAlgorithm: string
      readonly keyEncryptionDigest?: string
      readonly warnInsecureAlgorithm?: boolean
      readonly disallowEncryptionWithInsecureAlgorithm?: boolean
    },
    callback: (error: Error | null, encrypted?: string) => void,
  ): void
  export function decrypt(
    xml: string,
    options: {
      readonly key: string
      readonly warnInsecureAlgorithm?: boolean
      readonly disallowDecryptionWithInsecureAlgorithm?: boolean
    },
    callback: (error: Error | null, plain?: string) => void,
  ): void
}
