import type { Command } from 'commander'
import { clientSettings } from '../../config/client-settings.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { addCommand, addGroup, jsonOption, lazyAction, optionOf } from './options.ts'

const loadProfiles = () => import('../connection/profiles.ts')

export function registerProfiles(program: Command, terminal: Terminal): void {
  registerLogin(program, terminal)
  const profile = addGroup(program, 'profile', 'Manage the profiles in the configuration file')
  addCommand(profile, 'list', 'List the profiles; * marks the current one', {
    examples: ['pubring profile list'],
  })
    .addOption(jsonOption())
    .action(lazyAction(terminal, async () => (await loadProfiles()).listProfiles))
  addCommand(profile, 'use', 'Make a profile the current one', {
    examples: ['pubring profile use production'],
  })
    .argument('<profile>', 'Its name')
    .addOption(jsonOption())
    .action(lazyAction(terminal, async () => (await loadProfiles()).selectProfile))
  addCommand(profile, 'delete', 'Remove a profile and its copy of the API key, which stays valid', {
    examples: ['pubring profile delete production'],
  })
    .argument('<profile>', 'Its name')
    .addOption(jsonOption())
    .action(lazyAction(terminal, async () => (await loadProfiles()).deleteProfile))
}

function registerLogin(program: Command, terminal: Terminal): void {
  addCommand(program, 'login', 'Store an API key and a server address as a profile', {
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
    .action(lazyAction(terminal, async () => (await import('../connection/login.ts')).login))
}
