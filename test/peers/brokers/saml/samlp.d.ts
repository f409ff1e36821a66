/** What the tests use of `samlp`, which has no types. */

declare module 'samlp' {
  type Middleware = (request: object, response: object, next: (error: unknown) => void) => void
  const samlp: {
    readonly auth: (options: Readonly<Record<string, unknown>>) => Middleware
    readonly metadata: (options: Readonly<Record<string, unknown>>) => Middleware
  }
  export default samlp
}
