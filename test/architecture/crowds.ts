/** The number of files in a folder, sub-folders not counted. */
import { dirname } from 'node:path'
import type { Tree } from './tree.ts'

const most = 16

interface Exception {
  readonly folder: string
  /** Why sub-folders would not help a reader. */
  readonly reason: string
}

const exceptions: readonly Exception[] = [
  {
    folder: 'server/storage/migrations',
    reason: 'a numbered list, in the order in which a database gets them',
  },
  { folder: 'schemas/editor', reason: 'generated, one file a section' },
]

const isCode = (path: string): boolean => /^(schemas|server|cli|test)\//.test(path)

export const crowdedFolders = ({ paths }: Tree): string[] => {
  const folders = Map.groupBy(paths.filter(isCode), (path) => dirname(path))
  const excepted = new Set(exceptions.map(({ folder }) => folder))
  return [
    ...[...folders]
      .filter(([folder, files]) => files.length > most && !excepted.has(folder))
      .map(([folder, { length }]) => `${folder} has ${length} loose files, ${most} at most`),
    // An exception that is needed no more is removed.
    ...exceptions.flatMap(({ folder }) => {
      const { length } = folders.get(folder) ?? []
      return length > 0 && length <= most ? [`${folder} is listed, and has ${length} files`] : []
    }),
  ]
}
