/** What the tests use of xml-encryption, which comes without types. */
declare module 'xml-encryption' {
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
