/**
 * As what a document counts in the figures of a revision; null: it does not. What older revisions hold is counted by what was
 * done; of the documents that a realm was born with it is not known any more which were changed then: they do not count.
 */

import type { Migration } from './migration.ts'

export const figures: Migration = {
  name: '0029-figures',
  statements: ({ text }) => [
    `alter table revision_operations add column figure ${text}`,
    `update revision_operations set figure = case op
      when 'create' then 'created' when 'delete' then 'deleted' else 'updated' end
      where revision > 1 or op <> 'create' or after not like '%"origin":"built-in"%'`,
  ],
}
