import {
  type CredentialKind,
  findCredential,
  invalidRegistration,
} from '../../kernel/access/callers.ts'
import { findBySession, openedLinks } from './reads.ts'
import { isLive } from './stored.ts'

/**
 * The holder of a registration link: the browser that opened it. Throws `invalid_session` if the link has
 * ended, or its project was deleted.
 */
export const registrationCredential: CredentialKind = {
  type: 'registration',
  async caller(look, by) {
    const opened = await findCredential(look, by, openedLinks, findBySession)
    if (opened === undefined || !isLive(opened.link, look.time)) throw invalidRegistration()
    const { link, head } = opened
    const { id, projectId, newKeys, algorithms, createdBy, expireTime } = link
    return {
      grants: [{ role: 'registrar', projectId, link: true }],
      expireTime,
      link: { id, newKeys, createdBy, head, ...(algorithms && { algorithms }) },
    }
  },
}
