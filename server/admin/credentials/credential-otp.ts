/** One-time passwords of an authenticator app that an administrator sets up. A user may have several apps. */

import { credentialContext } from '#server/credentials/credentials.ts'
import {
  newOtpSecret,
  otpauthUri,
  otpIssuer,
  otpParameters,
} from '#server/credentials/factors/otp.ts'
import { newId } from '#server/platform/ids.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'
import { asChecked, bodyOf } from '../action.ts'
import { settingsIn } from '../users/users.ts'
import { type CredentialParts, type SettableType, shown, storeFactor } from './credential-type.ts'

export const otpCredential = (parts: CredentialParts): SettableType => ({
  body: bodyOf(
    {
      type: { type: 'string', enum: ['otp'] },
      userLabel: { type: 'string', minLength: 1, maxLength: 255 },
      secret: {
        type: 'string',
        format: 'otp-secret',
        description: 'Base32, of an app that is set up already; made by the server if left out.',
      },
    },
    ['type'],
  ),
  shownOnce: {
    secret: { type: 'string', description: 'Of an otp: base32.' },
    otpauthUri: { type: 'string', description: 'Of an otp: the content of its QR code.' },
  },
  events: ['ADMIN_UPDATE', 'UPDATE_CREDENTIAL'],
  set: async (context, user) => {
    const { userLabel = null, secret = newOtpSecret() } = asChecked<{
      userLabel?: string
      secret?: string
    }>(context.body)
    const { realm } = context
    const settings = await settingsIn(context)
    const parameters = otpParameters(settings, secret)
    const id = newId()
    const sealed = parts.keyring.seal(JSON.stringify(parameters), credentialContext(realm, id))
    const row: CredentialRow = {
      id,
      realm,
      user_id: user.id,
      type: 'otp',
      label: userLabel,
      priority: 10,
      secret: JSON.stringify(sealed),
      created_at: parts.clock.now(),
      used: 0,
    }
    await storeFactor(parts, context, row)
    const issuer = otpIssuer(realm, settings.displayName)
    return {
      ...shown(row),
      secret: parameters.secret,
      otpauthUri: otpauthUri(parameters, issuer, user.username),
    }
  },
})
