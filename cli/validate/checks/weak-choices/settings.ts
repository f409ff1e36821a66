/** Settings of a realm that switch a protection off. */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { isAdmin } from './admin-roles.ts'
import { longLife } from './long-life.ts'
import { type WeakChoice, weakChoice } from './weak-choice.ts'

export const settingsChoices: readonly WeakChoice[] = [
  weakChoice<SettingsDoc>(
    Settings,
    'long-access-token',
    'access tokens live for more than an hour',
    ({ accessTokenLifespan }) => [longLife(accessTokenLifespan)],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'short-passwords',
    'passwords may have fewer than 8 characters',
    ({ passwordPolicy }) => [
      passwordPolicy.length < 8 && {
        field: '/passwordPolicy/length',
        message: `passwords of ${passwordPolicy.length} characters can be guessed`,
        hint: 'at least 8, better 12 (NIST SP 800-63B)',
      },
    ],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'no-breach-check',
    'passwords known from breaches are accepted',
    ({ passwordPolicy }) => [
      !passwordPolicy.breachCheck && {
        field: '/passwordPolicy/breachCheck',
        message: 'passwords known from breaches are the first that are tried',
        hint: 'leave it out: they are refused',
      },
    ],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'no-brute-force-protection',
    'passwords can be guessed as often as one likes',
    ({ bruteForceProtected }) => [
      !bruteForceProtected && {
        field: '/bruteForceProtected',
        message: 'passwords can be guessed as often as one likes',
        hint: 'leave it out: guessing is slowed down',
      },
    ],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'reusable-refresh-token',
    'a refresh token that is stolen is not noticed',
    ({ revokeRefreshToken }) => [
      !revokeRefreshToken && {
        field: '/revokeRefreshToken',
        message: 'a refresh token that is stolen works along with the real one and is not noticed',
        hint: 'leave it out: each refresh token is valid once (RFC 9700 §4.14.2)',
      },
    ],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'admin-by-default',
    'every new user administers the realm',
    ({ defaultRole }, model) => [
      isAdmin(model, defaultRole) && {
        field: '/defaultRole',
        message: `every new user gets "${defaultRole}" and with it realm-admin`,
        hint: 'choose a role without admin permissions',
      },
    ],
  ),
]
