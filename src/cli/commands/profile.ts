import type { Command } from 'commander'
import { clientSettings } from '../../config/client-settings.ts'
import type { LoginFlags } from '../connection/login.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand, addGroup, jsonOption, optionOf } from './options.ts'

export function registerProfiles(program: Command, terminal: Terminal): void {
  registerLogin(program, terminal)
  const profile = addGroup(program, 'profile', 'Manage the profiles in the configuration file')
  addCommand(profile, {
    name: 'list',
    description: 'List the profiles; * marks the current one',
    examples: ['pubring profile list'],
  })
    .addOption(jsonOption())
    .action(async (flags: { json?: true }) => {
      const { listProfiles } = await import('../connection/profiles.ts')
      listProfiles(terminal, flags)
    })
  addCommand(profile, {
    name: 'use',
    description: 'Make a profile the current one',
    examples: ['pubring profile use production'],
  })
    .argument('<profile>', 'Its name')
    .addOption(jsonOption())
    .action(async (name: string, flags: { json?: true }) => {
      const { selectProfile } = await import('../connection/profiles.ts')
      selectProfile(terminal, name, flags)
    })
  addCommand(profile, {
    name: 'delete',
    description: 'Remove a profile and its copy of the API key, which stays valid',
    examples: ['pubring profile delete production'],
  })
    .argument('<profile>', 'Its name')
    .addOption(jsonOption())
    .action(async (name: string, flags: { json?: true }) => {
      const { deleteProfile } = await import('../connection/profiles.ts')
      deleteProfile(terminal, name, flags)
    })
}

function registerLogin(program: Command, terminal: Terminal): void {
  addCommand(program, {
    name: 'login',
    description: 'Store an API key and a server address as a profile',
    notes:
      'Prompts for the API key, or reads it from standard input if that is not a terminal, and tries it first. The configuration file is readable only by its owner: $XDG_CONFIG_HOME/pubring/config.json (default: ~/.config).',
    examples: [
      'pubring login --url https://keys.example.com --profile production',
      'pubring login --url https://keys.example.com --project payments < deploy.key',
    ],
  })
    .addOption(optionOf(clientSettings.url, '--url <url>'))
    .option('-p, --project <id-or-name>', 'Default project of the profile')
    .option('--profile <name>', 'Name of the profile', 'default')
    .addOption(jsonOption())
    .action(async (flags: LoginFlags) => {
      const { login } = await import('../connection/login.ts')
      await login(terminal, flags)
    })
}
