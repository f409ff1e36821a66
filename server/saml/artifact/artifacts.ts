/**
 * Artifacts (SAML Bindings §3.6.4): what a browser carries in place of a response, which its service provider fetches over
 * SOAP. The database holds the response under the digest of the artifact's handle, so that any node answers; taking it is one
 * DELETE, which is durable before the answer leaves, so that none is resolved twice.
 */

import { createHash } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import { randomBytes, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Template } from '#server/xml/index.ts'
import { entityIdOf } from '../addresses.ts'
import type { ServiceProvider } from '../service-provider.ts'

/** The browser brings it at once. */
const lifetimeMs = 60_000
const typeCode = 0x0004
/** Of the artifact resolution service in the metadata. */
export const endpointIndex = 0
const sourceBytes = 20
const handleBytes = 20
const length = 2 + 2 + sourceBytes + handleBytes

/** SHA-1 is what the format says here (§3.6.4.2); it names the issuer and protects nothing. */
const sourceIdOf = (issuer: Issuer): Buffer =>
  createHash('sha1').update(entityIdOf(issuer)).digest()

const headerOf = (issuer: Issuer): Buffer => {
  const header = Buffer.alloc(4)
  header.writeUInt16BE(typeCode, 0)
  header.writeUInt16BE(endpointIndex, 2)
  return Buffer.concat([header, sourceIdOf(issuer)])
}

/** The handle of an artifact of this issuer; undefined for anything else. */
const handleOf = (issuer: Issuer, artifact: string): Buffer | undefined => {
  const bytes = Buffer.from(artifact, 'base64')
  const isOurs =
    bytes.length === length &&
    bytes.toString('base64') === artifact &&
    bytes.subarray(0, -handleBytes).equals(headerOf(issuer))
  return isOurs ? bytes.subarray(-handleBytes) : undefined
}

export const createArtifacts = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
}) => {
  const { db } = storage
  return {
    create: (
      issuer: Issuer,
      { id }: ServiceProvider,
      response: Template,
    ): { artifact: string; statements: Statement[] } => {
      const handle = randomBytes(handleBytes)
      const row = {
        id: sha256(handle),
        realm: issuer.name,
        client_id: id,
        data: JSON.stringify(response),
        expires_at: clock.now() + lifetimeMs,
      }
      return {
        artifact: Buffer.concat([headerOf(issuer), handle]).toString('base64'),
        statements: insertRows(db, 'saml_artifacts', [row]),
      }
    },

    /** Once, and for the service provider that it was made for. */
    take: async (
      issuer: Issuer,
      { id }: ServiceProvider,
      artifact: string,
    ): Promise<Template | undefined> => {
      const handle = handleOf(issuer, artifact)
      if (!handle) return undefined
      const [taken] = await storage.commit([
        statement(
          db
            .deleteFrom('saml_artifacts')
            .where('id', '=', sha256(handle))
            .where('realm', '=', issuer.name)
            .where('client_id', '=', id)
            .where('expires_at', '>', clock.now())
            .returning('data'),
        ),
      ])
      const data = taken?.rows[0]?.['data']
      return typeof data === 'string' ? (JSON.parse(data) as Template) : undefined
    },

    /** Removes what has expired, of all realms. */
    forgetStatements: (): Statement[] => [
      statement(db.deleteFrom('saml_artifacts').where('expires_at', '<=', clock.now())),
    ],
  }
}

export type Artifacts = ReturnType<typeof createArtifacts>
