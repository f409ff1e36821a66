/** A user as a directory describes them. */

import { emailErrors, printable, usernameErrors } from '#server/users/names.ts'
import type { Directory } from '../directory.ts'
import { type Entry, stableIdOf } from './entry.ts'

export interface Person {
  /** The subject of the link: what names the entry through renames and moves. */
  readonly subject: string
  readonly dn: string
  readonly username: string
  readonly email: string | null
  readonly firstName: string | null
  readonly lastName: string | null
  readonly enabled: boolean
}

/** Why an entry is no user of the realm. */
export interface NoPerson {
  readonly dn: string
  readonly problem: string
}

/** The state of a user of Active Directory. */
export const accountControl = 'userAccountControl'
/** ADS_UF_ACCOUNTDISABLE. */
const disabledBit = 2
/** 389 Directory Server and its relatives. */
const accountLock = 'nsAccountLock'

export const personAttributes = ({ attributes, protocol }: Directory): string[] => [
  ...Object.values(attributes),
  protocol === 'ad' ? accountControl : accountLock,
]

const isEnabled = (entry: Entry): boolean => {
  const control = Number(entry.first(accountControl) ?? 0)
  return (control & disabledBit) === 0 && entry.first(accountLock)?.toLowerCase() !== 'true'
}

/** What columns of names and addresses hold. */
const longest = 255

const textOf = (entry: Entry, attribute: string): string | null => {
  const value = entry.first(attribute)
  return value === undefined ? null : printable(value.trim(), longest)
}

/** An address that no mail can be sent to is left out, and the user is kept. It is never cut: that is the address of another person. */
const emailOf = (entry: Entry, attribute: string): string | null => {
  const email = entry.first(attribute)?.trim() ?? ''
  return email.length > longest || emailErrors(email).length > 0 ? null : email
}

export const personOf = ({ attributes }: Directory, entry: Entry): Person | NoPerson => {
  const { dn } = entry
  const subject = stableIdOf(entry, attributes.uuid)
  if (subject === undefined) return { dn, problem: `it has no usable ${attributes.uuid}` }
  const username = entry.first(attributes.uid)?.trim()
  if (username === undefined) return { dn, problem: `it has no ${attributes.uid}` }
  const [error] = usernameErrors(username)
  if (error) return { dn, problem: `its ${attributes.uid} ${error.message}` }
  return {
    subject,
    dn,
    username,
    email: emailOf(entry, attributes.email),
    firstName: textOf(entry, attributes.firstName),
    lastName: textOf(entry, attributes.lastName),
    enabled: isEnabled(entry),
  }
}

export const isPerson = (one: Person | NoPerson): one is Person => 'subject' in one
