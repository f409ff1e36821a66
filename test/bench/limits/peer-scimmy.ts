/** The npm packages `scimmy` and `scimmy-routers` with the same task: users by SCIM, kept in memory. It prints its address on stderr. */

import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import SCIMMY from 'scimmy'
import SCIMMYRouters from 'scimmy-routers'

// It has no types.
const express = createRequire(import.meta.url)('express')

const users = new Map<string, object>()

// biome-ignore lint/suspicious/noExplicitAny: the types of the library do not say what a handler gets
const resource = SCIMMY.Resources.User as any
SCIMMY.Resources.declare(resource)
resource
  .ingress(async ({ id = `u${users.size + 1}` }: { id?: string }, data: object) => {
    const made = { ...JSON.parse(JSON.stringify(data)), id }
    users.set(id, made)
    return made
  })
  .egress(async ({ id }: { id?: string }) =>
    id === undefined ? [...users.values()] : users.get(id),
  )
  .degress(async ({ id = '' }: { id?: string }) => users.delete(id))

const app = express()
app.use(
  '/scim/v2',
  new SCIMMYRouters({
    type: 'bearer',
    // biome-ignore lint/suspicious/noExplicitAny: the types of the library do not say what a handler gets
    handler: async (request: any) => request.headers.authorization,
  }),
)
const server = createServer(app)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address !== 'object') return
  process.stderr.write(`http://127.0.0.1:${address.port}\n`)
})
