/** The attributes of an assertion (SAML Core §2.7.3), those that are encrypted too. */

import {
  childrenOf,
  decryptElement,
  readElement,
  trimmed,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import { refuse } from '../refuse.ts'
import type { ResponseRules } from './rules.ts'
import { type NameId, nameIdIn } from './subject.ts'

export type Attributes = ReadonlyMap<string, readonly string[]>

export interface AttributesAndIds {
  readonly attributes: Attributes
  /** Of values that are NameIDs, by the same names. */
  readonly nameIds: ReadonlyMap<string, readonly NameId[]>
}

const nil = '{http://www.w3.org/2001/XMLSchema-instance}nil'

/** A name in another script (eIDAS attribute profile §2.4): its transliteration comes before it. */
const isLatin = ({ attributes }: XmlElement): boolean =>
  !Object.entries(attributes).some(
    ([name, value]) => /(?:^|\})LatinScript$/.test(name) && /^(?:false|0)$/.test(value),
  )

interface Value {
  readonly text: string
  readonly nameId?: NameId | undefined
}

/** Text, or the NameID inside (`eduPersonTargetedID`, ids of eHerkenning), in the open or encrypted. */
const readValue = (value: XmlElement, rules: ResponseRules): Value[] => {
  if (/^(?:true|1)$/.test(value.attributes[nil] ?? '')) return []
  if (value.children.length === 0) return [{ text: trimmed(value) }]
  const nameId = nameIdIn(value, rules)
  return nameId ? [{ text: nameId.value, nameId }] : []
}

const valuesOf = (attribute: XmlElement, rules: ResponseRules): Value[] => {
  const values = childrenOf(attribute, 'saml:AttributeValue')
  return [...values.filter(isLatin), ...values.filter((one) => !isLatin(one))].flatMap((one) =>
    readValue(one, rules),
  )
}

const opened = (encrypted: XmlElement, { decryption }: ResponseRules): XmlElement => {
  if (decryption.keys.length === 0) refuse('an attribute is encrypted; set spDecryptionPrivateKey')
  const root = xmlName('saml:Attribute')
  return readElement(decryptElement(encrypted, decryption), { root })
}

/** By Name, and by FriendlyName where no attribute has that Name. Values of attributes of one name come together. */
export const attributesOf = (assertion: XmlElement, rules: ResponseRules): AttributesAndIds => {
  const all = childrenOf(assertion, 'saml:AttributeStatement').flatMap((statement) => [
    ...childrenOf(statement, 'saml:Attribute'),
    ...childrenOf(statement, 'saml:EncryptedAttribute').map((one) => opened(one, rules)),
  ])
  const byName = new Map<string, Value[]>()
  const byFriendlyName = new Map<string, Value[]>()
  for (const attribute of all) {
    const { Name, FriendlyName } = attribute.attributes
    if (!Name) return refuse('an Attribute has no Name')
    const values = valuesOf(attribute, rules)
    byName.set(Name, [...(byName.get(Name) ?? []), ...values])
    if (FriendlyName)
      byFriendlyName.set(FriendlyName, [...(byFriendlyName.get(FriendlyName) ?? []), ...values])
  }
  const found = [...new Map([...byFriendlyName, ...byName])]
  return {
    attributes: new Map(found.map(([name, values]) => [name, values.map(({ text }) => text)])),
    nameIds: new Map(
      found.map(([name, values]) => [name, values.flatMap(({ nameId }) => nameId ?? [])]),
    ),
  }
}
