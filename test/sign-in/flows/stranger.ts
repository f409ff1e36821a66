/**
 * An attacker who knows the name of another user, has an account in the same realm, and answers the pages of a sign-in at
 * random: with names, with credentials of the own account, with factors that a page lets them enrol.
 */

import { Secret, TOTP } from 'otpauth'
import type { SignInBrowser, World } from '../world.ts'

export interface Stranger {
  readonly username: string
  readonly password: string
  readonly email: string
  /** Of the authenticator app of the attacker's own account. */
  readonly code: () => string
}

type Fields = Record<string, string>

const secretIn = (body: string): string | undefined =>
  /[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,}/.exec(body)?.[0].replaceAll(' ', '')

const methodsIn = (body: string): Fields[] =>
  [...body.matchAll(/name="method" value="([^"]+)"/g)].map(([, method = '']) => ({ method }))

const decisionsIn = (body: string): Fields[] =>
  [...body.matchAll(/name="decision" value="([^"]+)"/g)].map(([, decision = '']) => ({ decision }))

/** The attacker's own mailbox, newest first. */
const ownMail = async ({ mail, settle }: World, { email }: Stranger): Promise<Fields[]> => {
  await settle()
  const text = mail.mails
    .filter(({ to }) => to.includes(email))
    .at(-1)
    ?.raw.replaceAll('=\r\n', '')
    .replaceAll('=3D', '=')
  const code = /\r\n\r\n[\s\S]*?\b(\d{6})\b/.exec(text ?? '')?.[1]
  const token = /token=([\w-]{43})/.exec(text ?? '')?.[1]
  return [...(code ? [{ code }] : []), ...(token ? [{ token }] : [])]
}

/** Answers of a user to the sign-in to their own account, and of an attacker to that of another account. */
export const answersTo = async (
  world: World,
  { page }: SignInBrowser,
  stranger: Stranger,
  target: string,
): Promise<{ readonly own: Fields[]; readonly hostile: Fields[] }> => {
  const body = page?.body ?? ''
  const { username, password } = stranger
  const secret = secretIn(body)
  const enrolled = secret && new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 })
  const has = (field: string) => body.includes(`name="${field}"`)
  const own = [
    ...(has('username') && !has('passwordConfirm') ? [{ username, password }] : []),
    ...(has('password') && !has('username') ? [{ password }] : []),
    ...(has('passwordConfirm') ? [{ password, passwordConfirm: password }] : []),
    ...(enrolled
      ? [{ code: enrolled.generate({ timestamp: world.clock.now() }), label: 'mine' }]
      : []),
    ...(has('code') && !enrolled ? [{ code: stranger.code() }] : []),
    ...(has('code') || body.includes('Check your mail') ? await ownMail(world, stranger) : []),
    ...(has('decision') ? [{ decision: 'accept' }, ...decisionsIn(body)] : []),
    ...(has('saved') ? [{ saved: 'true' }] : []),
    ...methodsIn(body),
  ]
  return {
    own,
    hostile: [
      { username: target },
      { username: target, password },
      // A profile to complete, with the address of the other user.
      ...(has('email') ? [{ username: `${username}-too`, email: `${target}@shop.example` }] : []),
      ...(body.includes('value="other"') ? [{ step: 'other' }] : []),
      ...(own.length === 0 ? [{ step: 'restart' }, { decision: 'accept' }] : []),
    ],
  }
}
