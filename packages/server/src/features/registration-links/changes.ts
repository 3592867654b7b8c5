import { change, type Origin } from '../../kernel/changes.ts'
import type { LinkRecord } from './stored.ts'

/** A change of the link with this id. */
export interface LinkChange {
  origin: Origin
  projectId: string
  id: string
}
export type LinkCreation = LinkChange & { link: LinkRecord }
export type LinkOpening = LinkChange & Required<Pick<LinkRecord, 'sessionDigest'>>
/** `kid`: the id of the key whose token was valid. */
export type KeyProof = LinkChange & { kid: string }

export const linkChanges = {
  createLink: change<LinkCreation>('registration_link.create'),
  openLink: change<LinkOpening>('registration_link.open'),
  recordProof: change<KeyProof>('registration_link.record_proof'),
  revokeLink: change<LinkChange>('registration_link.revoke'),
}
