/** Flags of the commands that open the database directly. */
export interface DatabaseFlags {
  databaseUrl?: string
  json?: true
}
