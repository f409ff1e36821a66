/**
 * Names and attributes of the cookies. Over https each is a `__Host-` cookie (RFC 6265bis §4.1.3.2): no other
 * host and no plain-http page can plant one, so the unprefixed name is never read there. Over plain http,
 * which is for local work only, browsers refuse both the prefix and `Secure`.
 */

export interface CookieOptions {
  readonly path: '/'
  readonly httpOnly: boolean
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict'
  /** Seconds; without it the cookie ends with the browser. */
  readonly maxAge?: number
}

export interface Cookie {
  readonly name: string
  readonly options: CookieOptions
}

export interface Cookies {
  /** Holds the session of one realm. */
  session(realm: string, maxAge?: number): Cookie
  /** Ties a sign-in that has not ended yet to the browser it began in. */
  login(realm: string): Cookie
  /** Ties what a client asked for to the browser that brought it. */
  authorization(realm: string): Cookie
  /** Ties the way to an identity provider and back to the browser that left. */
  broker(realm: string): Cookie
  /** Holds the token of an invitation that was opened, until it is accepted. */
  invitation(realm: string): Cookie
  /** Makes the browser known to those who sign in with it. */
  readonly device: Cookie
  /** The language that pages were switched to; it ends with the browser. */
  readonly locale: Cookie
  /** Read by scripts and sent back as `X-XSRF-TOKEN`; the name is part of the interface. */
  readonly xsrf: Cookie
}

/** In seconds: browsers keep no cookie for longer (RFC 6265bis §5.5). */
const longest = 400 * 24 * 60 * 60

/** The header that carries the value of the `XSRF-TOKEN` cookie back, as Node.js spells it. */
export const xsrfHeader = 'x-xsrf-token'

export const createCookies = (baseUrl: string): Cookies => {
  const secure = new URL(baseUrl).protocol === 'https:'
  const prefix = secure ? '__Host-' : ''
  const hidden = { path: '/', httpOnly: true, secure, sameSite: 'lax' } as const
  return {
    session: (realm, maxAge) => ({
      name: `${prefix}iam-session-${realm}`,
      options: maxAge === undefined ? hidden : { ...hidden, maxAge },
    }),
    login: (realm) => ({ name: `${prefix}iam-login-${realm}`, options: hidden }),
    authorization: (realm) => ({ name: `${prefix}iam-authorize-${realm}`, options: hidden }),
    broker: (realm) => ({ name: `${prefix}iam-broker-${realm}`, options: hidden }),
    invitation: (realm) => ({ name: `${prefix}iam-invitation-${realm}`, options: hidden }),
    device: {
      name: `${prefix}iam-device`,
      options: { ...hidden, maxAge: longest },
    },
    locale: { name: `${prefix}iam-locale`, options: hidden },
    xsrf: {
      name: 'XSRF-TOKEN',
      options: { path: '/', httpOnly: false, secure, sameSite: 'strict' },
    },
  }
}
