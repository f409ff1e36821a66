/** The host in the addresses of a development server. Browsers offer no passkeys at an IP address (WebAuthn Level 3 §5.1.3). */
export const hostnames = ['127.0.0.1', 'localhost'] as const
export type Hostname = (typeof hostnames)[number]
