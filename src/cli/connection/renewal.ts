import { createTransport } from '../../../client/src/transport.ts'
import type { Environment } from '../../config/setting.ts'
import type { SessionKey } from '../../contract/sign-in/command-line.ts'
import { type Profile, readConfiguration, writeConfiguration } from './configuration.ts'

/** How long before its end an API key is renewed. */
const marginMs = 60_000

/** The members of a profile that hold an API key of a session. */
export function renewedMembers({ apiKey, expiresIn }: SessionKey): Profile {
  const renewTime = new Date(Date.now() + expiresIn * 1_000 - marginMs).toISOString()
  return { apiKey, renewTime }
}

/** Sends requests with the API key of the profile, which is renewed in time. */
export function renewingFetch(
  env: Environment,
  profileName: string,
  { url, send }: { url: string; send: typeof fetch },
): typeof fetch {
  const transport = createTransport({ url, fetch: send, retries: 1 })
  let pending: Promise<string> | undefined

  async function renew(renewalSecret: string): Promise<string> {
    const body = { renewalSecret }
    const operation = { method: 'POST', path: '/session-keys', body, retry: 'always' } as const
    const answer = await transport.send({ ...operation, access: 'public' })
    const issued = answer.body as SessionKey
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
