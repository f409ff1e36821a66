/** The rows of what syncs of directories remember. */

export interface DirectorySyncRow {
  /** The id of the provider's document. */
  provider: string
  realm: string
  /** The lease of the node that runs the sync. */
  lease: string | null
  lease_until: number
  /** How far changes have been read: a time of the directory, or a number of a server of Active Directory. */
  mark: string | null
  /** What the mark is about: the settings that choose and read entries, and the server that counts. */
  mark_of: string | null
  full_at: number
  finished_at: number
  /** JSON of the counts of the last sync. */
  result: string | null
}

/** A user whom a sync has disabled, and may enable again. */
export interface DirectoryAbsenceRow {
  user_id: string
  provider: string
  cause: 'missing' | 'disabled'
  since: number
}

/** A group that a sync has made. */
export interface DirectoryGroupRow {
  document_id: string
  provider: string
  subject: string
}
