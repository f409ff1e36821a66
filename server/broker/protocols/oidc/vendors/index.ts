/** THE list of vendors. */

import type { Vendor } from '../vendor.ts'
import { apple } from './apple.ts'
import { facebook } from './facebook.ts'
import { github } from './github.ts'
import { google } from './google.ts'
import { microsoft } from './microsoft.ts'
import { gitlab, linkedin, oidc } from './openid.ts'

export const vendors: readonly Vendor[] = [
  oidc,
  google,
  microsoft,
  github,
  apple,
  facebook,
  gitlab,
  linkedin,
]
