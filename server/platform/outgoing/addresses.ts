/**
 * Which addresses the server may talk to on behalf of a user: those of the public internet, and what
 * the operator allows by name or range. Registries: IANA special-purpose addresses (RFC 6890).
 */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

export interface AllowedTargets {
  hosts: ReadonlySet<string>
  ranges: readonly Range[]
}

const GLOBAL_UNICAST: Range = ipaddr.parseCIDR('2000::/3')
const NAT64: Range = ipaddr.parseCIDR('64:ff9b::/96')
/** Azure's host agent: a public address by number, reachable only from inside a virtual machine. */
const AZURE_HOST: Range = ipaddr.parseCIDR('168.63.129.16/32')

/** Entries are ranges (`10.0.0.0/8`), addresses or host names, which allow whatever they resolve to. */
export function parseAllowed(entries: readonly string[]): AllowedTargets {
  const hosts = new Set<string>()
  const ranges: Range[] = []
  for (const entry of entries) {
    const text = entry.trim()
    if (ipaddr.isValidCIDR(text)) ranges.push(ipaddr.parseCIDR(text))
    else if (ipaddr.isValid(text)) ranges.push(single(ipaddr.parse(text)))
    else if (/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?$/i.test(text)) hosts.add(canonicalHost(text))
    else throw new TypeError(`"${entry}" is neither an address range nor a host name`)
  }
  return { hosts, ranges }
}

/** Lower case, without the dot of the root and without the brackets of an IPv6 literal. */
export function canonicalHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}

/** What is wrong with an address, or undefined when it may be dialled. */
export function addressProblem(text: string, allowed: AllowedTargets): string | undefined {
  if (isIP(text) === 0) return 'an address that is not understood'
  const address = ipaddr.parse(inHexadecimal(text))
  const inner = embedded(address)
  if (allowed.ranges.some((range) => within(address, range) || within(inner, range))) {
    return undefined
  }
  return isPublic(inner) ? undefined : `a ${describe(inner)} address`
}

/** The library reads `::8.8.8.8` as if it were mapped (`::ffff:8.8.8.8`), which is another address. */
function inHexadecimal(text: string): string {
  if (!text.includes(':')) return text
  const [address = ''] = text.split('%')
  return canonicalHost(new URL(`http://[${address}]`).hostname)
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || within(address, AZURE_HOST)) return false
  // Outside 2000::/3 nothing is routed; among it are the old IPv4-compatible forms (::127.0.0.1).
  return address.kind() === 'ipv4' || within(address, GLOBAL_UNICAST)
}

/**
 * The IPv4 address that an IPv6 address leads to. Only mapped addresses and the well-known NAT64
 * prefix (which IPv6-only networks need, RFC 6052 §2.1); 6to4, Teredo and other translations are
 * refused as they are.
 */
function embedded(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  if (within(address, NAT64)) return new ipaddr.IPv4(address.toByteArray().slice(12))
  return address
}

function within(address: Address, [network, bits]: Range): boolean {
  return address.kind() === network.kind() && address.match(network, bits)
}

function single(address: Address): Range {
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

function describe(address: Address): string {
  const range = address.range()
  if (range === 'unicast') return 'reserved'
  return range.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
