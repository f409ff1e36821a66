/** THE list of response modes. */

import type { Clock } from '#server/platform/clock.ts'
import type { Mint } from '#server/tokens/mint.ts'
import type { OidcPages } from '../../page-definitions.ts'
import { formPost } from './form-post.ts'
import { fragment } from './fragment.ts'
import { jarm } from './jarm.ts'
import type { ResponseMode } from './mode.ts'
import { query } from './query.ts'

export const createResponseModes = (parts: {
  readonly pages: OidcPages
  readonly mint: Mint
  readonly clock: Clock
}): readonly ResponseMode[] => {
  const post = formPost(parts)
  return [
    query,
    fragment,
    post,
    // The default of a code (JARM §2.3.4).
    jarm(parts, 'jwt', query),
    jarm(parts, 'query.jwt', query),
    jarm(parts, 'fragment.jwt', fragment),
    jarm(parts, 'form_post.jwt', post),
  ]
}
