/** A value by itself on a line of standard output, for a script or a password manager. */

import { printOut } from '../../streams.ts'
import { harmless } from './text.ts'

export const printValue = (value: string): void => printOut(harmless(value))
