/**
 * Programs that tests start and npm does not bring. Only the project `peers` needs them (`npm run test:peers`); they are
 * installed only with `--install`.
 */
import { existsSync } from 'node:fs'

interface Program {
  /** Any of these files is the program. */
  readonly files: readonly string[]
  /** What Debian calls it. */
  readonly packages: readonly string[]
}

const programs = {
  chromium: {
    files: [
      '/usr/bin/chromium',
      '/usr/bin/chromium-browser',
      '/usr/bin/google-chrome',
      '/usr/bin/google-chrome-stable',
    ],
    packages: ['chromium'],
  },
  apache: { files: ['/usr/sbin/apache2'], packages: ['apache2'] },
  mod_auth_openidc: {
    files: ['/usr/lib/apache2/modules/mod_auth_openidc.so'],
    packages: ['libapache2-mod-auth-openidc'],
  },
  zsh: { files: ['/usr/bin/zsh'], packages: ['zsh'] },
  fish: { files: ['/usr/bin/fish'], packages: ['fish'] },
  curl: { files: ['/usr/bin/curl'], packages: ['curl'] },
  xmlsec1: { files: ['/usr/bin/xmlsec1'], packages: ['xmlsec1'] },
  xmllint: { files: ['/usr/bin/xmllint'], packages: ['libxml2-utils'] },
  groff: { files: ['/usr/bin/groff'], packages: ['groff-base'] },
  // Judges of SAML messages: the schemas of OASIS, and those of W3C that they import.
  saml_schemas: {
    files: ['/usr/share/xml/opensaml/saml-schema-protocol-2.0.xsd'],
    packages: ['opensaml-schemas'],
  },
  xml_schemas: {
    files: ['/usr/share/xml/xmltooling/xmldsig-core-schema.xsd'],
    packages: ['xmltooling-schemas'],
  },
  // Service providers: two modules of Apache, one in PHP, two in Python.
  mod_auth_mellon: {
    files: ['/usr/lib/apache2/modules/mod_auth_mellon.so'],
    packages: ['libapache2-mod-auth-mellon'],
  },
  mod_shib: {
    files: ['/usr/lib/apache2/modules/mod_shib.so'],
    packages: ['libapache2-mod-shib'],
  },
  shibd: { files: ['/usr/sbin/shibd'], packages: ['shibboleth-sp-utils'] },
  simplesamlphp: {
    files: ['/usr/share/simplesamlphp/www/index.php'],
    packages: ['simplesamlphp'],
  },
  php: { files: ['/usr/bin/php'], packages: ['php-cli'] },
  // Extensions lie in folders of the version of PHP, the lists of dpkg do not.
  php_xml: { files: ['/var/lib/dpkg/info/php-xml.list'], packages: ['php-xml'] },
  php_mbstring: { files: ['/var/lib/dpkg/info/php-mbstring.list'], packages: ['php-mbstring'] },
  php_curl: { files: ['/var/lib/dpkg/info/php-curl.list'], packages: ['php-curl'] },
  php_soap: { files: ['/var/lib/dpkg/info/php-soap.list'], packages: ['php-soap'] },
  php_sqlite3: { files: ['/var/lib/dpkg/info/php-sqlite3.list'], packages: ['php-sqlite3'] },
  python: { files: ['/usr/bin/python3'], packages: ['python3'] },
  pysaml2: {
    files: ['/usr/lib/python3/dist-packages/saml2/__init__.py'],
    packages: ['python3-pysaml2'],
  },
  onelogin: {
    files: ['/usr/lib/python3/dist-packages/onelogin/saml2/__init__.py'],
    packages: ['python3-onelogin-saml2'],
  },
  // An identity provider in Perl, and what its side of SAML and its captcha load.
  plackup: { files: ['/usr/bin/plackup'], packages: ['libplack-perl'] },
  lemonldap: {
    files: ['/usr/share/lemonldap-ng/portal/templates/bootstrap/login.tpl'],
    packages: ['lemonldap-ng', 'libcrypt-openssl-rsa-perl', 'libcrypt-jwt-perl'],
  },
  perl_lasso: {
    files: ['amd64', 'arm64'].map((machine) => `/var/lib/dpkg/info/liblasso-perl:${machine}.list`),
    packages: ['liblasso-perl'],
  },
  perl_glib: {
    files: ['amd64', 'arm64'].map((machine) => `/var/lib/dpkg/info/libglib-perl:${machine}.list`),
    packages: ['libglib-perl'],
  },
  perl_magick: {
    files: ['/var/lib/dpkg/info/libimage-magick-perl.list'],
    packages: ['libimage-magick-perl'],
  },
  perl_captcha: {
    files: ['/usr/share/perl5/GD/SecurityImage.pm'],
    packages: ['libgd-securityimage-perl'],
  },
  perl_xml: { files: ['/usr/share/perl5/XML/Simple.pm'], packages: ['libxml-simple-perl'] },
  perl_strings: { files: ['/usr/share/perl5/IO/String.pm'], packages: ['libio-string-perl'] },
  // Loaded since 2.16.1+ds-deb12u10, which does not depend on it.
  perl_random: {
    files: ['/usr/share/perl5/String/Random.pm'],
    packages: ['libstring-random-perl'],
  },
  // A directory.
  slapd: { files: ['/usr/sbin/slapd'], packages: ['slapd'] },
  slapadd: { files: ['/usr/sbin/slapadd'], packages: ['slapd'] },
  ldapmodify: { files: ['/usr/bin/ldapmodify'], packages: ['ldap-utils'] },
  ldapsearch: { files: ['/usr/bin/ldapsearch'], packages: ['ldap-utils'] },
  // A domain controller of Active Directory.
  samba: {
    files: ['/usr/sbin/samba'],
    packages: ['samba-ad-dc', 'samba-dsdb-modules', 'winbind'],
  },
  samba_tool: { files: ['/usr/bin/samba-tool'], packages: ['samba-common-bin'] },
  samba_provision: {
    files: ['/usr/share/samba/setup/provision.ldif'],
    packages: ['samba-ad-provision'],
  },
  // A clock that jumps while the server runs.
  faketime: {
    files: ['x86_64', 'aarch64'].map(
      (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`,
    ),
    packages: ['libfaketime'],
  },
} satisfies Record<string, Program>

const found = ({ files }: Program): string | undefined => files.find((file) => existsSync(file))

/** Packages of Debian that the tests with other programs still want. */
export const missingPackages = (): string[] =>
  Object.values(programs).flatMap((program) =>
    found(program) === undefined ? program.packages : [],
  )

/** Where a program is; a test that needs one that is not there fails with what to do. */
export const pathOf = (name: keyof typeof programs): string => {
  const path = found(programs[name])
  if (path === undefined)
    throw new Error(
      `${name} is not installed: apt-get install ${programs[name].packages.join(' ')}, or npm run test:peers -- --install`,
    )
  return path
}
