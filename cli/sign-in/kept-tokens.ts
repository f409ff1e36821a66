/**
 * Storage of the tokens of a sign-in: the keychain of the system if it works, else a file of mode 0600. The store of
 * contexts records which, and not the content.
 */

import { createHash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isObject } from '#schemas/json-schema.ts'
import { withLock } from '../context/lock.ts'
import { type Env, isMissing, type KeptIn, sessionKey, storeFile } from '../context/store.ts'
import { writeInPrivateFolder } from '../private-file.ts'
import { openKeychain } from './keychain.ts'
import type { UserTokens } from './token-endpoint.ts'

export interface KeptTokens {
  /** Undefined where they are gone, or of another server. */
  read(): Promise<UserTokens | undefined>
  /** Where it could be kept. */
  write(tokens: UserTokens): Promise<KeptIn>
  remove(): Promise<void>
  /** No two processes renew them at once: a refresh token is good for one use. */
  alone<T>(work: () => Promise<T>): Promise<T>
}

const encode = (tokens: UserTokens): string =>
  Buffer.from(JSON.stringify(tokens)).toString('base64url')

const texts = ['server', 'realm', 'base', 'accessToken', 'refreshToken'] as const

const decode = (text: string): UserTokens | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text.trim(), 'base64url').toString())
    const isWhole =
      isObject(value) &&
      texts.every((name) => typeof value[name] === 'string') &&
      typeof value['expiresAt'] === 'number' &&
      isObject(value['key'])
    return isWhole ? (value as unknown as UserTokens) : undefined
  } catch {
    return undefined
  }
}

const readFile = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** `keptIn` is where they are said to be; of a new sign-in the keychain is tried first. */
export const keptTokens = (
  env: Env,
  server: string,
  realm: string,
  keptIn?: KeptIn,
): KeptTokens => {
  const account = sessionKey(server, realm)
  const name = createHash('sha256').update(account).digest('hex').slice(0, 32)
  const file = join(dirname(storeFile(env)), 'tokens', name)
  const keychain = keptIn === 'file' ? undefined : openKeychain(env)
  return {
    read: async () => {
      // The file is there only where the keychain did not take the newest ones.
      const text = readFile(file) ?? (await keychain?.find(account))
      const tokens = text === undefined ? undefined : decode(text)
      return tokens?.server === server && tokens.realm === realm ? tokens : undefined
    },
    write: async (tokens) => {
      const text = encode(tokens)
      // Some keychains take what they cannot give back.
      const isKept =
        (await keychain?.store(account, text)) === true && (await keychain?.find(account)) === text
      if (keychain && isKept) {
        rmSync(file, { force: true })
        return keychain.name
      }
      await keychain?.remove(account)
      writeInPrivateFolder(file, `${text}\n`)
      return 'file'
    },
    remove: async () => {
      await keychain?.remove(account)
      rmSync(file, { force: true })
    },
    alone: (work) => withLock(`${file}.lock`, work),
  }
}
