/** THE list of response modes. */

import type { OidcParts } from '../../parts.ts'
import { formPost } from './form-post.ts'
import { fragment } from './fragment.ts'
import { jarm } from './jarm.ts'
import type { ResponseMode } from './mode.ts'
import { query } from './query.ts'

export const createResponseModes = (
  parts: Pick<OidcParts, 'pages' | 'mint' | 'clock'>,
): readonly ResponseMode[] => {
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
