/** Users: names that are the same to a person's eye are the same here, so what could deceive it is no name. */

import { User, type UserDoc } from '../kinds/user.ts'
import { emailErrors, usernameErrors } from '../names.ts'
import { ruleFor } from './rule.ts'

export const user = ruleFor<UserDoc>(User, ({ username, email }) => [
  ...usernameErrors(username),
  ...(email === undefined ? [] : emailErrors(email)),
])
