import { findCredential, invalidRegistration } from '../../kernel/access/callers.ts'
import { feature } from '../../kernel/feature.ts'
import { on } from '../../kernel/hooks.ts'
import { projectDeleted } from '../projects/changes.ts'
import { linkChanges } from './changes.ts'
import { findBySession, readNotes } from './reads.ts'
import { isLive, links, linkTable } from './stored.ts'

export const registrationLinks = feature({
  name: 'registration-links',
  tables: [linkTable],
  subjects: [links],
  changes: linkChanges,
  apply: () => import('./apply.ts'),
  hooks: [on(projectDeleted, async (...all) => (await import('./apply.ts')).eraseNotes(...all))],
  readNotes,
  /** The browser that opened the link. Throws `invalid_session` if the link has ended. */
  credential: {
    type: 'registration',
    async caller(look, by) {
      const link = await findCredential(look, by, links, findBySession)
      if (link === undefined || !isLive(link, look.time)) throw invalidRegistration()
      const { projectId, expireTime } = link
      return { grants: [{ role: 'registrar', projectId, link: true }], expireTime, link }
    },
  },
  http: () => import('./http.ts'),
})
