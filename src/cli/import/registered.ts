import { type JwtKey, PubringError } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { readMaterial } from './material.ts'
import type { ImportRow } from './rows.ts'

/** Leaves out keys that are registered as the source has them, so that an import can be resumed. */
export async function markPresent(session: Session, rows: readonly ImportRow[]): Promise<void> {
  await forEachRegistered(session, rows, (row, { id, algorithm }) => {
    const { item } = row
    // Lists do not show published kids; and of another difference the server says what it is.
    const isSame = item?.algorithm === algorithm && (item.kid ?? id) === id
    if (isSame && item.publishedKid === undefined)
      Object.assign(row, { outcome: 'present', kid: id })
  })
}

/** Asks which keys of a lost response were registered. False if the server cannot be asked. */
export async function settleUnanswered(
  session: Session,
  rows: readonly ImportRow[],
): Promise<boolean> {
  const lost = rows.filter(({ isUnanswered }) => isUnanswered)
  try {
    await forEachRegistered(session, lost, (row, { id }) => {
      Object.assign(row, { outcome: 'created', kid: id })
    })
    return true
  } catch (error) {
    if (!(error instanceof PubringError)) throw error
    return false
  }
}

/** Calls `found` for each row whose key its project has. */
async function forEachRegistered(
  { client }: Session,
  rows: readonly ImportRow[],
  found: (row: ImportRow, key: JwtKey) => void,
): Promise<void> {
  for (const [project, group] of Map.groupBy(rows, (row) => row.project)) {
    const keys = await client.keys.list(project)
    const bySpki = new Map(keys.map((key) => [readMaterial(key.publicKeyPem)?.spkiSha256, key]))
    for (const row of group) {
      const key = row.spkiSha256 && bySpki.get(row.spkiSha256)
      if (key && row.errors.length === 0) found(row, key)
    }
  }
}
