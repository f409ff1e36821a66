/** The form of the POST binding. A parameter that stands twice is refused: a proxy in front may have read the other one. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { SamlRefused } from '../errors.ts'

/** 64 KiB of XML in base64, percent-encoded, and a RelayState beside it. */
const longestForm = 256 * 1024

export const takeForms = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: longestForm },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  )
}

export const formOf = ({ body }: FastifyRequest): ((name: string) => string | undefined) => {
  const form = body instanceof URLSearchParams ? body : new URLSearchParams()
  return (name) => {
    const [value, ...others] = form.getAll(name)
    if (others.length > 0) throw new SamlRefused(`the parameter ${name} is there twice`)
    return value
  }
}
