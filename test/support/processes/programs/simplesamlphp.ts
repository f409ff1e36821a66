/** SimpleSAMLphp as a service provider. */
import { openSimpleSamlPhp } from './simplesamlphp-pages.ts'

export interface SimpleSamlPhp {
  readonly url: string
  readonly log: () => string
  /** Takes new metadata of the identity provider. */
  readonly readMetadata: (metadata: string) => Promise<void>
  readonly close: () => Promise<void>
}

export interface SimpleSamlPhpOptions {
  /** Entity ID and metadata of the identity provider. */
  readonly issuer: string
  readonly metadata: string
  /** In PEM. */
  readonly privateKey: string
  readonly certificate: string
}

const post = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'
const artifact = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact'

/** Two sources of one application: they differ in how they want the answer. */
const sourcesOf = (url: string, issuer: string): string => {
  const source = (name: string, binding: string): string => `
  '${name}' => [
    'saml:SP',
    'entityID' => '${url}/${name}',
    'idp' => '${issuer}',
    'privatekey' => 'sp.key',
    'certificate' => 'sp.crt',
    'sign.authnrequest' => true,
    'sign.logout' => true,
    'validate.logout' => true,
    'redirect.sign' => true,
    'redirect.validate' => true,
    'WantAssertionsSigned' => true,
    'assertion.encryption' => true,
    'signature.algorithm' => 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    'acs.Bindings' => ['${post}', '${artifact}'],
    'ProtocolBinding' => '${binding}',
  ],`
  return `<?php\n$config = [${source('by-post', post)}${source('by-artifact', artifact)}\n];\n`
}

/** The application: /app.php?as=SOURCE shows its user, `&logout` signs out at the identity provider too. */
const application = `<?php
require '/usr/share/simplesamlphp/lib/_autoload.php';
$source = new \\SimpleSAML\\Auth\\Simple($_GET['as']);
if (isset($_GET['logout'])) $source->logout('/bye.php');
$source->requireAuth();
$nameId = $source->getAuthData('saml:sp:NameID');
header('content-type: application/json');
echo json_encode([
  'nameId' => $nameId->getValue(),
  'format' => $nameId->getFormat(),
  'attributes' => $source->getAttributes(),
  'idp' => $source->getAuthData('saml:sp:IdP'),
]);
`

export const startSimpleSamlPhp = async (options: SimpleSamlPhpOptions): Promise<SimpleSamlPhp> => {
  const { url, file, converted, start } = await openSimpleSamlPhp('127.0.0.1')
  file('config/authsources.php', sourcesOf(url, options.issuer))
  file('cert/sp.key', options.privateKey)
  file('cert/sp.crt', options.certificate)
  file('www/app.php', application)
  file('www/bye.php', 'signed out of the application')
  const readMetadata = async (metadata: string): Promise<void> => {
    file('metadata/saml20-idp-remote.php', `<?php ${await converted(metadata, 'IdP')}`)
  }
  await readMetadata(options.metadata)
  return { url, readMetadata, ...(await start()) }
}
