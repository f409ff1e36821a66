/** `iamctl import saml-metadata`. */

import { CommandError, exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { flags, text } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'

const defaultTimeoutSeconds = 60

export const importSamlMetadata = command({
  name: 'saml-metadata',
  description: 'write the metadata of a SAML service provider as a realm file',
  help: `
Reads an EntityDescriptor, or one service provider of an aggregate, and prints a realm file with an entry of samlClients:
entity ID, assertion consumer services, single logout service, NameID format, certificates. Nothing is sent to a server;
metadata in a file is read offline. Metadata that has expired or has weak keys is refused, with the element.
From an address, the entry gets metadataUrl and metadataRefresh: the server reads the metadata again every day.

Examples:
  iamctl import saml-metadata wiki.xml --realm acme > realms/acme/wiki.yaml
  iamctl import saml-metadata https://wiki.example.com/saml/metadata --realm acme
  iamctl import saml-metadata federation.xml --entity-id https://wiki.example.com/saml --realm acme`,
  arguments: [argument('<file>', 'a file, an https address, or - for stdin')],
  flags: flags(
    { entityId: text('<id>', 'which service provider, if the metadata describes several') },
    { realm: realmFlags.realm, timeout: realmFlags.timeout },
  ),
  run: async (call, from) => {
    const { realm, entityId, timeout } = call.flags
    if (realm === undefined)
      throw new CommandError(exitCodes.error, 'the realm of the file is not given', {
        hint: 'name it with --realm or IAMCTL_REALM',
      })
    const { realmFileFrom } = await import('../../transfer/saml-metadata.ts')
    const timeoutMs = (timeout ?? defaultTimeoutSeconds) * 1000
    return realmFileFrom({ from, realm, entityId, timeoutMs, env: call.env })
  },
  views: {
    yaml: async () => {
      const { printRealmFile } = await import('../../views/yaml/realm-file.ts')
      return (file) => printRealmFile(file)
    },
    json: () => printJson,
  },
})
