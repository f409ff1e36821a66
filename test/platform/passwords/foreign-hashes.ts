/** Hashes of one password, made by third-party code: Python's hashlib and libxcrypt. */

export const foreignPassword = 'correct horse é'

const salt = 'AAECAwQFBgcICQoLDA0ODw'
const bcrypt = 'abcdefghijklmnopqrstuuNKTrdYIyJepeBe0WMJS4ZyMwX4aEJLK'

export const foreignHashes: Readonly<Record<string, string>> = {
  'bcrypt 2a': `$2a$05$${bcrypt}`,
  'bcrypt 2b': `$2b$05$${bcrypt}`,
  'bcrypt 2y': `$2y$05$${bcrypt}`,
  'PBKDF2 sha1': `$pbkdf2-sha1$i=2000$${salt}$11AfcUqySzRVUFx60FXnQ3pN0sc`,
  'PBKDF2 sha256': `$pbkdf2-sha256$i=2000$${salt}$vzERo1PjYwKRCG5z2MhIyaTwUVpWlgBdA4U6Wcp9zJM`,
  'PBKDF2 sha512': `$pbkdf2-sha512$i=2000$${salt}$6VnR7tYiMe5It+MGXnwEJdK9ZEr0xqhzwqRpgSvUPoHfa19ivttQNlap5oQAv4G8TENzFDPTl1odU3woofUyFQ`,
  Passlib: `$pbkdf2-sha256$2000$${salt}$vzERo1PjYwKRCG5z2MhIyaTwUVpWlgBdA4U6Wcp9zJM`,
  Django: 'pbkdf2_sha256$2000$seasalt12chars$JZcs1G3sbIpaoSOnab6YSarFVA7Uy55inTb1Td8jKLE=',
  scrypt: `$scrypt$ln=10,r=8,p=2$${salt}$2XSXWVu/0UAxMI+4S27c2e6ymQdHxxGjqiM0HJD5pwE`,
}
