import { change, type Origin } from '../../kernel/changes.ts'
import type { LinkRecord } from './stored.ts'

export interface LinkCreation {
  origin: Origin
  projectId: string
  id: string
  link: LinkRecord
}

export interface LinkRevocation {
  origin: Origin
  projectId: string
  id: string
}

export interface LinkOpening extends LinkRevocation {
  /** SHA-256 over the secret in the cookie of the browser. */
  sessionDigest: string
}

export interface KeyProof extends LinkRevocation {
  /** Id of the key whose token was valid. */
  kid: string
}

export const linkChanges = {
  createLink: change<LinkCreation>('registration_link.create'),
  openLink: change<LinkOpening, LinkRecord>('registration_link.open'),
  /** Records the first valid token of a key that was checked through its link. */
  recordProof: change<KeyProof>('registration_link.record_proof'),
  revokeLink: change<LinkRevocation>('registration_link.revoke'),
}
