/** The configuration of Shibboleth's service provider over plain HTTP. What is not written here is Debian's. */

export interface ShibbolethOptions {
  readonly url: string
  readonly folder: string
  /** Entity ID of the identity provider, and where its metadata is read again and again. */
  readonly issuer: string
  readonly metadataUrl: string
  /** Files in PEM. */
  readonly key: string
  readonly certificate: string
  /** Each may have signed the metadata: the key that signs now, and the next one. */
  readonly metadataCertificates: readonly string[]
}

/** Waits for the answer to its LogoutRequest; `/Logout`, as Debian has it, asks for none. */
export const logoutAndBack = '/LogoutAndBack'

const config = 'urn:mace:shibboleth:3.0:native:sp:config'

export const shibbolethConfig = (options: ShibbolethOptions): string => {
  const { url, folder, issuer, metadataUrl, key, certificate, metadataCertificates } = options
  const credential = (use: string): string =>
    `<CredentialResolver type="File" use="${use}" key="${key}" certificate="${certificate}"/>`
  const trusted = metadataCertificates
    .map((file) => `<CredentialResolver type="File" certificate="${file}"/>`)
    .join('')
  return `<SPConfig xmlns="${config}" clockSkew="30">
  <OutOfProcess logger="${folder}/shibd.logger"/>
  <UnixListener address="${folder}/shibd.sock"/>
  <ApplicationDefaults entityID="${url}/shibboleth" REMOTE_USER="persistent-id" signing="true" encryption="false" requireConfidentiality="false">
    <Sessions lifetime="28800" timeout="3600" relayState="ss:mem" checkAddress="false" handlerSSL="false" cookieProps="http">
      <SSO entityID="${issuer}">SAML2</SSO>
      <Logout>SAML2 Local</Logout>
      <Handler type="MetadataGenerator" Location="/Metadata" signing="false"/>
      <LogoutInitiator type="Chaining" Location="${logoutAndBack}">
        <LogoutInitiator type="SAML2" asynchronous="false"/>
        <LogoutInitiator type="Local"/>
      </LogoutInitiator>
    </Sessions>
    <MetadataProvider type="XML" validate="true" url="${metadataUrl}" backingFilePath="${folder}/idp.xml" minRefreshDelay="1" maxRefreshDelay="1">
      <MetadataFilter type="RequireValidUntil" maxValidityInterval="2419200"/>
      <MetadataFilter type="Signature"><CredentialResolver type="Chaining">${trusted}</CredentialResolver></MetadataFilter>
    </MetadataProvider>
    <AttributeExtractor type="XML" validate="true" reloadChanges="false" path="${folder}/attribute-map.xml"/>
    <AttributeFilter type="XML" validate="true" path="attribute-policy.xml"/>
    ${credential('signing')}
    ${credential('encryption')}
  </ApplicationDefaults>
  <SecurityPolicyProvider type="XML" validate="true" path="security-policy.xml"/>
  <ProtocolProvider type="XML" validate="true" reloadChanges="false" path="protocols.xml"/>
</SPConfig>
`
}

const basic = 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic'

/** Names of the federations for what has one, plain names for the rest. */
export const attributeMap = `<Attributes xmlns="urn:mace:shibboleth:2.0:attribute-map" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <Attribute name="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" id="persistent-id">
    <AttributeDecoder xsi:type="NameIDAttributeDecoder" formatter="$NameQualifier!$SPNameQualifier!$Name"/>
  </Attribute>
  <Attribute name="urn:oid:0.9.2342.19200300.100.1.3" id="mail"/>
  <Attribute name="urn:oid:2.16.840.1.113730.3.1.241" id="displayName"/>
  <Attribute name="groups" nameFormat="${basic}" id="groups"/>
  <Attribute name="roles" nameFormat="${basic}" id="roles"/>
</Attributes>
`

/** Into a file, which a test that fails shows. */
export const loggerOf = (folder: string): string => `log4j.rootCategory=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.fileName=${folder}/shibd.log
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%p %c: %m%n
`
