/**
 * A signature that is verified where there is no key to verify with, so that an unknown issuer, subject or audience takes the
 * same work as a wrong signature and the answer's time does not tell them apart. Its result is never looked at: nothing
 * depends on these public keys, and their private halves were never kept.
 */

import { compactVerify, importJWK, type JWK } from 'jose'
import type { WorkloadAlgorithm } from './workload-token.ts'

const rsa: JWK = {
  kty: 'RSA',
  n: 'ov3gO-4xq1QRHiLgVNFISDqjkJF1ufi3fzp7GqIStJKH9cd0da1exLnBtfSgZG9ysTc3-grJ-bBx4OMdpUDdx-fF4Xb9TEZ_VUbj34nKXk5els90dLbml7TPGyOf-YsfYmgLf_Svi_zyvO8kxmZCKXADaaguLb9l4Mhwdj0-tGL65jziPOzh_uXwlSUXpmrqm8aCAIGeZbw3pb-Q-zHd_BsfJTuNDBm2U-bb-ET0Ob8A13NhxmqnGK5pNp--nNwUbcKh1MHOEt2JLObJPnspaOvk1BdrAQQRkBafzsMniJYbQKEmpohKUQr7Im943alu2FmXtXyURTL6H3B7YyhJ_Q',
  e: 'AQAB',
}

const curves: Readonly<Record<'ES256' | 'ES384' | 'ES512', JWK>> = {
  ES256: {
    kty: 'EC',
    crv: 'P-256',
    x: 'jjQRKyO1MFru6UMYMo-_yiYB0I4A3lj5uTcBTOpah_M',
    y: '8kmfP0xeKTY2D8wnLgOk_4v2d61EbIYStwWtmx85XtQ',
  },
  ES384: {
    kty: 'EC',
    crv: 'P-384',
    x: 'g-HS4-lP90Ecdpe4Z7xeZVt38pF_OMAzUA9Mhbn2P8Ul8AHeWXfWSTDbOUlI6hVe',
    y: '6NdsNE3aB-2mAbNzdW5zntiQght-34AP1sPC4g77y2irbM8F7pTAKQ2EUEvvVRiv',
  },
  ES512: {
    kty: 'EC',
    crv: 'P-521',
    x: 'AEIX-Rvm6tAHoZI_13gOmQcgnYGNzKd4shxPwy1oGC5JhH-AbLQWkYI-zw2ZD31qaAez4-UeeCusdr6mcKfIgKdw',
    y: 'ATB9qtsWxb7u_u0IA1iLljM3lOJty6VP5Go-zb5zAliHZcLnPC2MTaQHf3OflTzMCqWtWFWVcUd-f2UpsYJZgxcA',
  },
}

/** Within the modulus, and within the order of each curve. */
const signatureOf: Readonly<Record<WorkloadAlgorithm, string>> = {
  RS256: Buffer.alloc(256, 1).toString('base64url'),
  RS384: Buffer.alloc(256, 1).toString('base64url'),
  RS512: Buffer.alloc(256, 1).toString('base64url'),
  ES256: Buffer.alloc(64, 1).toString('base64url'),
  ES384: Buffer.alloc(96, 1).toString('base64url'),
  ES512: Buffer.alloc(132, 1).toString('base64url'),
}

const keyFor = (alg: WorkloadAlgorithm): ReturnType<typeof importJWK> =>
  importJWK(alg === 'ES256' || alg === 'ES384' || alg === 'ES512' ? curves[alg] : rsa, alg)

export type VerifyDecoy = (text: string, alg: WorkloadAlgorithm | undefined) => Promise<void>

export const createDecoy = (): VerifyDecoy => {
  const keys = new Map<WorkloadAlgorithm, ReturnType<typeof importJWK>>()
  return async (text, alg = 'RS256') => {
    const key = keys.get(alg) ?? keyFor(alg)
    keys.set(alg, key)
    const header = Buffer.from(JSON.stringify({ alg })).toString('base64url')
    const payload = Buffer.from(text).toString('base64url')
    await compactVerify(`${header}.${payload}.${signatureOf[alg]}`, await key).catch(
      () => undefined,
    )
  }
}
