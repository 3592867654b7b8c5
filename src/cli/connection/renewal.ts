import { createTransport } from '../../../client/src/transport.ts'
import type { Environment } from '../../config/setting.ts'
import type { SessionKey, SessionKeyRequest } from '../../contract/sign-in/command-line.ts'
import { readVersion } from '../../runtime/version.ts'
import { type Profile, readConfiguration, writeConfiguration } from './configuration.ts'

/** How long before its end an API key is renewed. */
const marginMs = 60_000

/** The `User-Agent` of the requests of a session. */
export const userAgent = () => `pubring/${readVersion()}`

/** The members of a profile that hold an API key of a session. */
export function renewedMembers({ apiKey, expiresIn }: SessionKey): Profile {
  const renewTime = new Date(Date.now() + expiresIn * 1_000 - marginMs).toISOString()
  return { apiKey, renewTime }
}

/** An API key of a session, for a code, which is accepted once, or for the secret of the session. */
export async function requestSessionKey(
  options: { url: string; fetch: typeof fetch },
  body: SessionKeyRequest,
): Promise<SessionKey> {
  const transport = createTransport({ ...options, retries: 1, userAgent: userAgent() })
  const retry = body.code === undefined ? 'always' : 'if-not-processed'
  const operation = { method: 'POST', path: '/session-keys', body, retry } as const
  return (await transport.send({ ...operation, access: 'public' })).body as SessionKey
}

/** Sends requests with the API key of the profile, which is renewed in time. */
export function renewingFetch(
  env: Environment,
  profileName: string,
  { url, send }: { url: string; send: typeof fetch },
): typeof fetch {
  let pending: Promise<string> | undefined

  async function renew(renewalSecret: string): Promise<string> {
    const issued = await requestSessionKey({ url, fetch: send }, { renewalSecret })
    const configuration = readConfiguration(env)
    const { [profileName]: profile } = configuration.profiles
    // Unless a logout or another login came in between.
    if (profile?.renewalSecret === renewalSecret) {
      const profiles = { [profileName]: { ...profile, ...renewedMembers(issued) } }
      writeConfiguration({ ...configuration, profiles: { ...configuration.profiles, ...profiles } })
    }
    return issued.apiKey
  }
  /** Reads the file each time, since another process may have renewed it. */
  async function currentApiKey(): Promise<string> {
    const profile = readConfiguration(env).profiles[profileName] ?? {}
    const { apiKey = '', renewTime = '', renewalSecret } = profile
    if (renewalSecret === undefined || renewTime > new Date().toISOString()) return apiKey
    pending ??= renew(renewalSecret).finally(() => {
      pending = undefined
    })
    return pending
  }

  return async (input, init) => {
    const headers = new Headers(init?.headers)
    if (headers.has('x-api-key')) headers.set('x-api-key', await currentApiKey())
    return send(input, { ...init, headers })
  }
}
