import { formatTable } from '../terminal/table.ts'
import { notify, printResult, type Terminal } from '../terminal/terminal.ts'
import { profileNamed, readConfiguration, writeConfiguration } from './configuration.ts'

/** Lists the profiles, without their secrets. */
export function listProfiles(terminal: Terminal): void {
  const { path, currentProfile, profiles } = readConfiguration(terminal.env)
  const rows = Object.entries(profiles).map(([name, { url = '', project = '', ...keys }]) => ({
    name,
    current: name === currentProfile,
    url,
    project,
    apiKey: keys.apiKey === undefined ? (keys.apiKeyFile ?? 'none') : 'in this file',
  }))
  printResult(terminal, rows, () =>
    formatTable(
      terminal,
      [
        { heading: '', value: ({ current }) => (current ? '*' : '') },
        { heading: 'NAME', value: ({ name }) => name },
        { heading: 'URL', value: ({ url }) => url, cut: true },
        { heading: 'PROJECT', value: ({ project }) => project, cut: true },
        { heading: 'API KEY', value: ({ apiKey }) => apiKey, cut: true },
      ],
      rows,
    ),
  )
  if (rows.length === 0)
    notify(terminal, `There are no profiles in ${path}. pubring login creates one.`)
}

export function selectProfile(terminal: Terminal, name: string): void {
  const configuration = readConfiguration(terminal.env)
  const { url } = profileNamed(configuration, name)
  writeConfiguration({ ...configuration, currentProfile: name })
  printResult(terminal, { currentProfile: name })
  notify(terminal, `The current profile is now ${name}${url === undefined ? '' : ` (${url})`}.`)
}

export function deleteProfile(terminal: Terminal, name: string): void {
  const { path, currentProfile, profiles } = readConfiguration(terminal.env)
  profileNamed({ path, profiles }, name)
  const { [name]: _deleted, ...rest } = profiles
  writeConfiguration({
    path,
    profiles: rest,
    ...(currentProfile === undefined || currentProfile === name ? {} : { currentProfile }),
  })
  printResult(terminal, { deleted: name })
  notify(
    terminal,
    `Profile ${name} is deleted. Its API key or session is still valid: pubring api-key revoke, or pubring logout before.`,
  )
}
