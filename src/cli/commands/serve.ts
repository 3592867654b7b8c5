import type { Command } from 'commander'
import { clientSettings } from '../../config/client-settings.ts'
import { loadConfig, settings } from '../../config/server-settings.ts'
import type { Setting } from '../../config/setting.ts'
import type { Terminal } from '../terminal/terminal.ts'
import {
  addCommand,
  addHelpNotes,
  databaseOption,
  describeCommand,
  lazyAction,
  optionOf,
} from './options.ts'

export function registerServe(program: Command, terminal: Terminal): void {
  const serve = describeCommand(program, 'serve', 'Run the server', {
    notes: 'Every option can be set by its environment variable instead.',
    examples: ['PUBRING_PUBLIC_URL=https://keys.example.com pubring serve --port 8080'],
  })
  addSettings(serve)
  serve.action(async (flags: Record<string, string>) => {
    const load = () => loadConfig(terminal.env, flags)
    // Before anything else is loaded, so that a mistake is reported at once.
    load()
    const { serve } = await import('../server/serve.ts')
    await serve(load)
  })
  registerInspection(program, terminal)
}

function registerInspection(program: Command, terminal: Terminal): void {
  addCommand(program, 'status', 'Show the state of the server and its database on one screen', {
    notes:
      'Asks the server at --url and opens the database, changing nothing. Exits with 1 if something is wrong.',
    examples: ['pubring status', 'pubring status --url https://keys.example.com --json'],
  })
    .addOption(optionOf(clientSettings.url, '--url <url>'))
    .addOption(databaseOption())
    .action(lazyAction(terminal, async () => (await import('../server/status.ts')).showStatus))
  const doctor = addCommand(program, 'doctor', 'Check what would keep the server from working', {
    notes:
      'Takes the options and variables of serve, starts nothing and changes nothing. Each line says what to do. Exits with 1 if serve would fail.',
    examples: ['pubring doctor', 'pubring doctor --port 80'],
  })
  addSettings(doctor)
  doctor.action(lazyAction(terminal, async () => (await import('../server/doctor.ts')).diagnose))
}

function addSettings(command: Command): void {
  const all: readonly Setting<unknown>[] = Object.values(settings)
  for (const setting of all) if (setting.flag !== undefined) command.addOption(optionOf(setting))
  const secrets = all.filter(({ flag }) => flag === undefined)
  const width = Math.max(...secrets.map(({ env }) => env.length))
  addHelpNotes(command, (wrapped) => {
    const items = secrets.map(({ env, help }) => wrapped.formatItem(env, width, help, wrapped))
    return ['Environment only:', ...items].join('\n')
  })
}
