/** THE list of kinds, one line each. */

export { Client } from './client.ts'
export { ClientMapper } from './client-mapper.ts'
export { ClientRole } from './client-role.ts'
export { ClientScope } from './client-scope.ts'
export { Flow } from './flow.ts'
export { Group } from './group.ts'
export { MessageTemplate } from './message-template.ts'
export { Organization } from './organization.ts'
export { Role } from './role.ts'
export { Settings } from './settings.ts'
export { User } from './user.ts'
export { Webhook } from './webhook.ts'
