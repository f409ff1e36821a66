/** The inputs and results of resolving a secret. */

import { harmless } from '../../control-characters.ts'

const mostShown = 2000

export interface ResolveOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Files lie below it, commands run in it. */
  readonly root: string
  readonly allowExec: boolean
}

export interface Missing {
  readonly code: string
  readonly message: string
  readonly hint?: string
}

export type Outcome = { readonly value: string } | Missing

/** What a program told about its failure, as a hint. */
export const saidBy = (stderr: string): Pick<Missing, 'hint'> => {
  const said = stderr.trim().slice(0, mostShown).split('\n').map(harmless).join('\n')
  return said === '' ? {} : { hint: said }
}
