/** Time-based one-time passwords (RFC 6238): the stored credential, and the key URI for authenticator apps. */

import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { base32 } from '#server/platform/base32.ts'

/** Kept with each secret: an app goes on as it was set up, also when the realm's policy changes. */
export interface OtpParameters {
  /** Base32, upper case, without padding. */
  readonly secret: string
  /** As the URI spells it. */
  readonly algorithm: 'SHA1' | 'SHA256' | 'SHA512'
  readonly digits: number
  /** In seconds. */
  readonly period: number
}

type Policy = Pick<SettingsDoc, 'otpPolicyAlgorithm' | 'otpPolicyDigits' | 'otpPolicyPeriod'>

const algorithms = { HmacSHA1: 'SHA1', HmacSHA256: 'SHA256', HmacSHA512: 'SHA512' } as const

/** RFC 4226 §4 recommends 160 bits. */
const SECRET_BYTES = 20

export const newOtpSecret = (): string => base32(randomBytes(SECRET_BYTES))

/** The secret as people give it: in any case, padded or not. */
export const otpParameters = (policy: Policy, secret: string): OtpParameters => ({
  secret: secret.toUpperCase().replace(/=+$/, ''),
  algorithm: algorithms[policy.otpPolicyAlgorithm],
  digits: policy.otpPolicyDigits,
  period: policy.otpPolicyPeriod,
})

/** The issuer that apps show. A colon is removed: apps split the label there, encoded or not. */
export const otpIssuer = (realm: string, displayName: string | null | undefined): string =>
  displayName?.replace(/\s*:\s*/g, ' ').trim() || realm

/** The key URI format, which apps read from a QR code. */
export const otpauthUri = (
  { secret, algorithm, digits, period }: OtpParameters,
  issuer: string,
  username: string,
): string => {
  const [by, of] = [encodeURIComponent(issuer), encodeURIComponent(username)]
  return `otpauth://totp/${by}:${of}?secret=${secret}&issuer=${by}&algorithm=${algorithm}&digits=${digits}&period=${period}`
}

/** The time step that the code belongs to; undefined where it belongs to none that counts. */
export const timeStepOf = (
  { secret, algorithm, digits, period }: OtpParameters,
  code: string,
  nowMs: number,
  window: number,
): number | undefined => {
  const totp = new TOTP({ secret: Secret.fromBase32(secret), algorithm, digits, period })
  const token = code.replace(/\s/g, '')
  if (!/^\d+$/.test(token) || token.length !== digits) return undefined
  const delta = totp.validate({ token, window, timestamp: nowMs })
  return delta === null ? undefined : Math.floor(nowMs / 1000 / period) + delta
}
