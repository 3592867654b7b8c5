import type { Self } from '../../../client/src/index.ts'
import { clientSettings } from '../../config/client-settings.ts'
import { readSetting } from '../../config/setting.ts'
import { present } from '../../runtime/present.ts'
import { readText } from '../terminal/files.ts'
import { isInteractive, notify, printResult, type Terminal } from '../terminal/terminal.ts'
import { type BrowserFlags, signInWithBrowser } from './browser-login.ts'
import {
  type Profile,
  profileNamed,
  readConfiguration,
  writeConfiguration,
} from './configuration.ts'
import { type Connection, isLoopback, parseApiKey, withoutEmpty } from './connection.ts'
import { renewedMembers } from './renewal.ts'
import { type Session, unless, withConnection, withSession } from './session.ts'

/** Flags of `login`. */
interface LoginFlags extends BrowserFlags {
  url?: string
  project?: string
  profile: string
  apiKeyFile?: string
}

/**
 * Signs in through the browser, or tries an API key, and stores the secrets with the address as a
 * profile, which becomes the current one.
 */
export async function login(terminal: Terminal, flags: LoginFlags): Promise<void> {
  const { env } = terminal
  const url = String(readSetting(clientSettings.url, withoutEmpty(env), flags.url))
  if (url.startsWith('http:') && !isLoopback(new URL(url))) {
    notify(terminal, 'The address is http: the API key is sent unencrypted.')
  }
  const connection: Connection = {
    url,
    urlSource: flags.url === undefined ? clientSettings.url.env : '--url',
    apiKeySource: 'the input',
    project: flags.project ?? 'default',
    projectSource: '--project',
    timeoutMs: 30_000,
  }
  const secrets = await obtainSecrets(terminal, connection, flags)
  await withConnection(terminal, { ...connection, ...secrets }, async ({ client, print }) => {
    const self = await client.sessions.self()
    const [grant, ...others] = self.grants
    const project = flags.project ?? (others.length === 0 ? grant?.projectId : undefined)
    if (project !== undefined) await client.projects.get(project)
    // Read only now: other commands may have changed it during the sign-in.
    const { path, profiles } = readConfiguration(env)
    const profile = { url, ...present({ project }), ...secrets }
    writeConfiguration({
      path,
      currentProfile: flags.profile,
      profiles: { ...profiles, [flags.profile]: profile },
    })
    print({ profile: flags.profile, url, project, self })
    notify(
      terminal,
      `“${self.name}” (${rolesOf(self)}) at ${url} is profile ${flags.profile} in ${path}.`,
    )
  })
}

function rolesOf({ grants }: Self): string {
  return grants.map(({ role, projectId: id }) => (id ? `${role} of ${id}` : role)).join(', ')
}

/** In the browser if the server lets people sign in there and a person is at the terminal. */
async function obtainSecrets(
  terminal: Terminal,
  connection: Connection,
  flags: LoginFlags,
): Promise<Profile> {
  const canSignIn = flags.apiKeyFile === undefined && (isInteractive(terminal) || !flags.browser)
  let secrets: Profile | undefined
  if (canSignIn) {
    await withConnection(terminal, connection, async (session) => {
      const { oidc } = await session.client.sessions.options()
      if (oidc === undefined) return
      const issued = await signInWithBrowser(session, oidc.url, flags)
      const { renewalSecret = '' } = issued
      secrets = { ...renewedMembers(issued), renewalSecret }
    })
  }
  const { url } = connection
  return secrets ?? { apiKey: parseApiKey(await readSecret(terminal, url, flags), 'The input') }
}

/** Shows who the caller is, and their roles. */
export async function showSelf({ client, print }: Session): Promise<void> {
  const self = await client.sessions.self()
  print(self, () => `${self.name} (${rolesOf(self)})\n`)
}

/** Ends the session of a profile, and removes its secrets. */
export async function logout(terminal: Terminal, flags: { profile?: string }): Promise<void> {
  const { env } = terminal
  const { profile: name = readConfiguration(env).currentProfile ?? 'default' } = flags
  const { renewalSecret } = profileNamed(readConfiguration(env), name)
  if (renewalSecret !== undefined) {
    await withSession(terminal, { profile: name }, async ({ client }) => {
      await unless('invalid_session', client.sessions.signOut())
    })
  }
  const configuration = readConfiguration(env)
  const { url, project } = configuration.profiles[name] ?? {}
  const profile = { ...(url && { url }), ...(project && { project }) }
  writeConfiguration({ ...configuration, profiles: { ...configuration.profiles, [name]: profile } })
  printResult(terminal, { loggedOut: name })
  const rest =
    renewalSecret === undefined
      ? 'The API key is still valid: revoke it with pubring api-key revoke.'
      : 'The session has ended.'
  notify(terminal, `Profile ${name} holds no secret any more. ${rest}`)
}

async function readSecret(
  terminal: Terminal,
  url: string,
  { apiKeyFile = '-' }: LoginFlags,
): Promise<string> {
  if (apiKeyFile !== '-' || !isInteractive(terminal)) return readText(apiKeyFile, terminal)
  const { default: password } = await import('@inquirer/password')
  const { stdin: input, stderr: output } = terminal
  return password({ message: `API key for ${url}:`, mask: true }, { input, output })
}
