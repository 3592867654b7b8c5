import { clientSettings } from '../../config/client-settings.ts'
import { readSetting } from '../../config/setting.ts'
import { readText } from '../terminal/files.ts'
import { notify } from '../terminal/output.ts'
import { isInteractive, type Terminal } from '../terminal/terminal.ts'
import { readConfiguration, writeConfiguration } from './configuration.ts'
import { isLoopback, parseApiKey } from './connection.ts'
import { withConnection } from './session.ts'

/** Flags of `login`. */
interface LoginFlags {
  url?: string
  project?: string
  profile: string
}

/** Tries an API key and stores it with the address as a profile, which becomes the current one. */
export async function login(terminal: Terminal, flags: LoginFlags): Promise<void> {
  const { env } = terminal
  const configuration = readConfiguration(env)
  const url = String(readSetting(clientSettings.url, env, flags.url))
  if (url.startsWith('http:') && !isLoopback(new URL(url))) {
    notify(terminal, 'The address is http: the API key is sent unencrypted.')
  }
  const apiKey = parseApiKey(await readSecret(terminal, url), 'The input')
  const connection = {
    url,
    urlSource: flags.url === undefined ? clientSettings.url.env : '--url',
    apiKey,
    apiKeySource: 'the input',
    project: flags.project ?? 'default',
    projectSource: '--project',
    timeoutMs: 30_000,
  }
  await withConnection(terminal, connection, async ({ client, print }) => {
    const self = await client.apiKeys.self()
    const project = flags.project ?? self.projectId
    if (project !== undefined) await client.projects.get(project)
    const profile = { url, ...(project === undefined ? {} : { project }), apiKey }
    writeConfiguration({
      path: configuration.path,
      currentProfile: flags.profile,
      profiles: { ...configuration.profiles, [flags.profile]: profile },
    })
    const { name, role } = self
    print({ profile: flags.profile, url, project, apiKey: self })
    notify(
      terminal,
      `“${name}” (${role}) at ${url} is profile ${flags.profile} in ${configuration.path}.`,
    )
  })
}

async function readSecret(terminal: Terminal, url: string): Promise<string> {
  if (!isInteractive(terminal)) return readText('-', terminal)
  const { default: password } = await import('@inquirer/password')
  const { stdin: input, stderr: output } = terminal
  return password({ message: `API key for ${url}:`, mask: true }, { input, output })
}
