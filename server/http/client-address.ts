/**
 * The client address of a request. `X-Forwarded-For` counts only as far as trusted proxies have written it; a value of
 * a trusted proxy that is not an address is refused, so that it cannot bypass a limit or a lock (CVE-2023-36456,
 * CVE-2026-49443).
 */

import { isIP, isIPv4 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { Problem } from '#schemas/problems.ts'

/** One spelling for each address: no port, no brackets, no zone, IPv4 as such. */
export const normalAddress = (text: string): string | undefined => {
  if (isIPv4(text)) return text
  const [, bracketed, dotted] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text) ?? []
  const [address = ''] = (bracketed ?? dotted ?? text).trim().split('%')
  if (isIP(address) === 0) return undefined
  return ipaddr.process(address).toString()
}

/** Makes `request.ip` the normal form of the address, or refuses the request. */
export const settleAddress = (request: FastifyRequest): void => {
  const { ip } = request
  if (isIPv4(ip)) return
  const address = normalAddress(ip)
  if (address === undefined)
    throw new Problem('bad-request', 'A proxy has sent an X-Forwarded-For that is no address.')
  Object.defineProperty(request, 'ip', { value: address })
}

/** What limits per address count by: one host may use all of an IPv6 /64 (RFC 6177). */
export const addressGroup = (ip: string): string => {
  if (!ipaddr.IPv6.isValid(ip)) return ip
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${ip}/64`)
  return `${network.toString()}/64`
}
