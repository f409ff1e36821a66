import { describe, expect, it } from 'vitest'
import { childOf, readSigned, xmlName } from '#server/xml/index.ts'
import { sender } from './keys.ts'
import { authnRequest, messages, signed } from './messages.ts'

const keys = [sender.publicKey]

describe('a signed message', () => {
  it.each(Object.entries(messages))('%s is read when its sender signed it', (_name, message) => {
    const { element, key } = readSigned(signed(message.honest('_1'), '_1'), {
      root: message.root,
      keys,
    })
    expect(element.name).toBe(message.root.name)
    expect(element.attributes['ID']).toBe('_1')
    expect(key).toBe(sender.publicKey)
  })

  it('comes without its signature, with the rest as it was sent', () => {
    const { element } = readSigned(signed(authnRequest('_1'), '_1'), {
      root: xmlName('samlp:AuthnRequest'),
      keys,
    })
    expect(element.children.map(({ name }) => name)).toEqual(['Issuer'])
    expect(childOf(element, 'saml:Issuer')?.text).toBe('https://sp.example')
    expect(element.attributes['AssertionConsumerServiceURL']).toBe('https://sp.example/acs')
    expect(Object.isFrozen(element) && Object.isFrozen(element.children)).toBe(true)
  })
})
