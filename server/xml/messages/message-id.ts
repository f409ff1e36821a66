/** IDs of messages and assertions that are sent (SAML Core §1.3.4). */

import { randomBytes } from '#server/platform/random.ts'

/** 160 random bits (SAML Core §1.3.4 asks for 128); no xs:ID begins with a digit. */
export const newMessageId = (): string => `_${randomBytes(20).toString('hex')}`
