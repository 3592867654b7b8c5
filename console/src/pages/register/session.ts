import type { RegistrationSession } from '@pubring/client'
import { url } from '../../session/client.ts'

const fragment = location.hash.slice(1)

/** The id of the link, which stays in the address: it tells the links of this browser apart. */
let linkId = /^[\da-f-]{36}$/.test(fragment) ? fragment : undefined

/** The secret of the link, which leaves the address before anything else, and then this page. */
let secret = linkId === undefined ? fragment : ''
if (secret !== '') history.replaceState(null, '', location.pathname)

// Another link that is opened in this tab changes the fragment alone.
addEventListener('hashchange', () => location.reload())

/** Opens the link or, after a reload, reads its session; null if this browser has none. */
export async function readSession(signal: AbortSignal): Promise<RegistrationSession | null> {
  const address = `${url}v1/registration-sessions`
  const response = await (linkId === undefined
    ? fetch(address, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ secret }),
      })
    : fetch(`${address}/self`, { signal, headers: { 'X-Api-Key': `registration:${linkId}` } }))
  if ([400, 401, 404].includes(response.status)) return null
  if (!response.ok) throw new Error(`The server answered with ${response.status}.`)
  const session: RegistrationSession = await response.json()
  linkId = session.id
  secret = ''
  history.replaceState(null, '', `${location.pathname}#${linkId}`)
  return session
}
