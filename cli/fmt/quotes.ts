/** Whether a plain scalar is read as the same string by YAML 1.2, YAML 1.1 and a human reader. */

import { plainValue } from '../load/yaml/scalars.ts'

/** What YAML 1.1 takes for something else: its booleans, numbers in bases of sixty, dates. */
const elsewhere =
  /^(?:y|yes|n|no|on|off|true|false|null|=|<<|[-+]?0[0-7_]+|[-+]?[\d_][\d_,]*(?::[0-5]?\d)+(?:\.[\d_]*)?|[-+]?(?:[\d_]+(?:\.[\d_]*)?|\.[\d_]+)(?:e[-+]?\d+)?|[-+]?0[box][\da-f_]+|[-+]?\.(?:inf|nan)|\d{4}-\d\d?-\d\d?.*)$/i

/** Indicators (YAML 1.2 §5.3), and what only looks like one. */
const beginsOtherwise = /^[-?:,[\]{}#&*!|>'"%@`~\s]/

/** Invisible characters, and those that look like a space. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u

export const isPlain = (text: string): boolean =>
  text !== '' &&
  !beginsOtherwise.test(text) &&
  !/:(?:\s|$)|\s#|\s$/.test(text) &&
  !unseen.test(text) &&
  !elsewhere.test(text) &&
  plainValue(text) === text
