import {
  type CredentialKind,
  findCredential,
  invalidRegistration,
} from '../../kernel/access/callers.ts'
import { present } from '../../runtime/present.ts'
import { findBySession, opened } from './reads.ts'
import { isLive } from './stored.ts'

/**
 * The holder of a registration link: the browser that opened it. Throws `invalid_session` if the link has
 * ended, or its project was deleted.
 */
export const registrationCredential: CredentialKind = {
  type: 'registration',
  async caller(look, by) {
    const link = await findCredential(look, by, opened, findBySession)
    if (link === undefined || !isLive(link, look.time)) throw invalidRegistration()
    const { id, projectId, newKeys, algorithms, createdBy, expireTime } = link
    return {
      grants: [{ role: 'registrar', projectId, link: true }],
      expireTime,
      link: { id, newKeys, createdBy, ...present({ algorithms }) },
    }
  },
}
