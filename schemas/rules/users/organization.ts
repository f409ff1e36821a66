/**
 * Organizations: a mail domain is listed once, case-insensitively, so that it cannot be both verified and unverified. A domain
 * of a public mail provider is refused, because each user of a verified domain becomes a member.
 */

import { Organization, type OrganizationDoc } from '../../kinds/users/organization.ts'
import { ruleFor } from '../rule.ts'

/** The largest of them; there is no complete list. */
const ofEverybody: ReadonlySet<string> = new Set([
  '163.com',
  'aol.com',
  'gmail.com',
  'gmx.de',
  'gmx.net',
  'googlemail.com',
  'hotmail.com',
  'icloud.com',
  'live.com',
  'mail.ru',
  'me.com',
  'msn.com',
  'outlook.com',
  'proton.me',
  'protonmail.com',
  'qq.com',
  'web.de',
  'yahoo.com',
  'yandex.ru',
  'ziggo.nl',
])

export const organization = ruleFor<OrganizationDoc>(Organization, ({ domains }) => {
  const seen = new Set<string>()
  return domains.flatMap(({ name: written, verified }, i) => {
    const name = written.toLowerCase()
    const field = `/domains/${i}/name`
    if (seen.has(name)) return [{ field, code: 'duplicate', message: 'is given more than once' }]
    seen.add(name)
    return verified && ofEverybody.has(name)
      ? [
          {
            field,
            code: 'public-domain',
            message: 'is a public mail provider, which no organization owns',
          },
        ]
      : []
  })
})
