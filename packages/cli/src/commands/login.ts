import { clientSettings } from '@pubring/server/config/client-settings'
import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { addApiCommand, addCommand, lazyAction, optionOf, sessionAction } from './options.ts'

const loadLogin = () => import('../connection/login.ts')

export function registerLogin(program: Command, terminal: Terminal): void {
  addCommand(program, 'login', 'Sign in, or store an API key, as a profile', {
    notes:
      'Signs in through the browser, and renews its API keys of 15 minutes while the session lives. If the server has no OpenID provider, prompts for an API key instead; with --api-key-file or standard input that is not a terminal, reads it there, and tries it first. The configuration file is readable only by its owner: $XDG_CONFIG_HOME/pubring/config.json (default: ~/.config).',
    examples: [
      'pubring login --url https://keys.example.com --profile production',
      'pubring login --recent',
      'pubring login --url https://keys.example.com --project payments < deploy.key',
    ],
  })
    .addOption(optionOf(clientSettings.url, '--url <url>'))
    .option('-p, --project <id-or-name>', 'Default project of the profile')
    .addOption(optionOf(clientSettings.profile, '--profile <name>'))
    .option('--api-key-file <file>', 'Store this API key instead; - asks for it')
    .option('--no-browser', 'Only print the address to open')
    .option('--recent', 'Prove again who you are, for what needs a recent sign-in')
    .action(lazyAction(terminal, async () => (await loadLogin()).login))
  addCommand(program, 'logout', 'End the session of a profile, and remove the profile', {
    examples: ['pubring logout'],
  })
    .addOption(optionOf(clientSettings.profile, '--profile <name>'))
    .action(lazyAction(terminal, async () => (await loadLogin()).logout))
  addApiCommand(
    program,
    'whoami',
    'Show who you are to the server, your roles, and where your API key comes from',
    {
      examples: ['pubring whoami'],
    },
  ).action(sessionAction(terminal, async () => (await loadLogin()).showSelf))
}
