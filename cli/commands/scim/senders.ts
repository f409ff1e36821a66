/** What to paste where, for each sender that the guides describe. */

export const senderNames = ['entra', 'okta', 'onelogin', 'jumpcloud'] as const
export type SenderName = (typeof senderNames)[number]

const steps: Readonly<Record<SenderName, (url: string) => readonly string[]>> = {
  entra: (url) => [
    'Entra admin center > Enterprise applications > (your application) > Provisioning:',
    '  Provisioning mode  Automatic',
    // Without the flag Entra ID sends texts for flags and members in a shape of its own; both are understood.
    `  Tenant URL         ${url}?aadOptscim062020`,
    '  Secret token       the token above',
    'Choose "Test connection", save, and set Provisioning status to On.',
  ],
  okta: (url) => [
    'Okta Admin Console > Applications > (your application) > Provisioning > Integration:',
    `  SCIM connector base URL            ${url}`,
    '  Unique identifier field for users  userName',
    '  Supported provisioning actions     all but imports, as you like',
    '  Authentication mode                HTTP Header; Authorization: Bearer, the token above',
    'Choose "Test Connector Configuration" and save.',
  ],
  onelogin: (url) => [
    'OneLogin > Applications > SCIM Provisioner with SAML (SCIM v2 Enterprise) > Configuration:',
    `  SCIM Base URL      ${url}`,
    '  SCIM Bearer Token  the token above',
    'Choose "Enable" and save.',
  ],
  jumpcloud: (url) => [
    'JumpCloud > SSO Applications > (your application) > Identity Management:',
    '  API Type   SCIM API, version 2.0',
    `  Base URL   ${url}`,
    '  Token Key  the token above',
    'Choose "Test Connection" and "Activate".',
  ],
}

export const pasteSteps = (sender: SenderName | undefined, url: string): string =>
  (sender ? steps[sender](url) : [`base URL: ${url}`, 'authentication: bearer token']).join('\n')
