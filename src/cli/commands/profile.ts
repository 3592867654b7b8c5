import type { Command } from 'commander'
import { clientSettings } from '../../config/client-settings.ts'
import type { LoginFlags } from '../connection/login.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand, addGroup, jsonOption, optionOf } from './options.ts'

export function registerProfiles(program: Command, terminal: Terminal): void {
  addCommand(program, {
    usage: 'login',
    description: 'keep an API key and an address in the configuration file, under a name',
    notes:
      'The API key is typed, or read from standard input where that is no terminal; it is tried first. It is kept in a file that only its owner can read: $XDG_CONFIG_HOME/pubring/config.json (~/.config by default).',
    examples: [
      'pubring login --url https://keys.example.com --profile production',
      'pubring login --url https://keys.example.com --project payments < deploy.key',
    ],
  })
    .addOption(optionOf(clientSettings.url, '--url <url>'))
    .option('-p, --project <id-or-name>', 'project that the commands are about by default')
    .option('--profile <name>', 'name of the profile', 'default')
    .addOption(jsonOption())
    .action(async (flags: LoginFlags) => {
      const { login } = await import('../connection/login.ts')
      await login(terminal, flags)
    })
  const profile = addGroup(program, 'profile', 'the servers that the configuration file knows')
  addCommand(profile, {
    usage: 'list',
    description: 'list the profiles; a * marks the current one',
    examples: ['pubring profile list'],
  })
    .addOption(jsonOption())
    .action(async (flags: { json?: true }) => {
      const { listProfiles } = await import('../connection/profiles.ts')
      listProfiles(terminal, flags)
    })
  addCommand(profile, {
    usage: 'use',
    description: 'let the commands use a profile where none is named',
    examples: ['pubring profile use production'],
  })
    .argument('<profile>', 'its name')
    .addOption(jsonOption())
    .action(async (name: string, flags: { json?: true }) => {
      const { chooseProfile } = await import('../connection/profiles.ts')
      chooseProfile(terminal, name, flags)
    })
  addCommand(profile, {
    usage: 'delete',
    description: 'forget a profile and its API key; the API key itself goes on counting',
    examples: ['pubring profile delete production'],
  })
    .argument('<profile>', 'its name')
    .addOption(jsonOption())
    .action(async (name: string, flags: { json?: true }) => {
      const { deleteProfile } = await import('../connection/profiles.ts')
      deleteProfile(terminal, name, flags)
    })
}
