/** Access tokens that live for long, of a realm or of a client. */

import type { Weakness } from './weak-choice.ts'

const hourInSeconds = 3600

export const longLife = (lifespan: number | undefined): Weakness | false =>
  lifespan !== undefined &&
  lifespan > hourInSeconds && {
    field: '/accessTokenLifespan',
    message: `an access token that is stolen works for ${lifespan} s`,
    hint: `at most ${hourInSeconds} s, with a refresh token for more`,
  }
