/** A certificate for 127.0.0.1 by an authority of its own, as the files that directories want. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export interface DirectoryCertificates {
  /** PEM files. */
  readonly ca: string
  readonly certificate: string
  readonly key: string
}

/** The days for which the certificates hold. */
export const makeCertificates = (
  folder: string,
  { authorityDays = 60, days = 60 } = {},
): DirectoryCertificates => {
  const file = (name: string): string => join(folder, name)
  const openssl = (command: string): void => {
    execFileSync('openssl', command.split(' '), { stdio: 'ignore' })
  }
  const key = '-newkey rsa:2048 -nodes'
  openssl(
    `req -x509 ${key} -keyout ${file('ca.key')} -out ${file('ca.pem')} -days ${authorityDays} -subj /O=Corp/CN=Root`,
  )
  openssl(
    `req ${key} -keyout ${file('server.key')} -out ${file('server.csr')} -subj /CN=ldap -addext subjectAltName=IP:127.0.0.1`,
  )
  openssl(
    `x509 -req -in ${file('server.csr')} -CA ${file('ca.pem')} -CAkey ${file('ca.key')} -days ${days} -copy_extensions copy -out ${file('server.pem')}`,
  )
  return { ca: file('ca.pem'), certificate: file('server.pem'), key: file('server.key') }
}
