import type { RegistrationSession } from '@pubring/client'
import { url } from '../../session/client.ts'

/** The secret of the link, which leaves the address before anything else, and then this page. */
let secret = location.hash.slice(1)
history.replaceState(null, '', location.pathname)

/** Opens the link or, after a reload, reads the session of this browser; null without either. */
export async function readSession(signal: AbortSignal): Promise<RegistrationSession | null> {
  const address = `${url}v1/registration-sessions`
  const response = await (secret === ''
    ? fetch(`${address}/self`, { signal, headers: { 'X-Api-Key': 'registration' } })
    : fetch(address, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ secret }),
      }))
  if ([400, 401, 404].includes(response.status)) return null
  if (!response.ok) throw new Error(`The server answered with ${response.status}.`)
  secret = ''
  return response.json()
}
